// One answer of one person: randomized here, sealed if the collection says so, sent once, and never twice for a round.
//
// What is kept (localStorage) is the message as it is sent, until it is taken, and then that the round is answered; the
// answer itself is kept nowhere.  So a reload or a lost connection sends the same bytes again, not a second report.

import { Collection } from "./sfumato.mjs"

const LATE = "late"
const LIMIT = 8 // a report that costs more all but tells the answer; such a collection is refused here
const part = (id) => document.getElementById(id)
const say = (words) => { part("state").textContent = words }

const odds = (epsilon) => {
  const factor = Math.exp(epsilon)
  return factor < 10 ? (Math.ceil(10 * factor) / 10).toFixed(1) : Math.ceil(factor - 1e-6).toLocaleString("en")
}

const kept = (collection, round) => `sfumato ${hex(collection.digest)} ${round}`
const hex = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("")
const bytes = (text) => Uint8Array.from({ length: text.length / 2 }, (_, place) => parseInt(text.slice(2 * place, 2 * place + 2), 16))

/** Post a message: true if it is taken, false if it never will be; otherwise this throws, and it is to be sent again. */
async function post(message) {
  const sent = { method: "POST", body: message, credentials: "omit", referrerPolicy: "no-referrer", cache: "no-store" }
  const answer = await fetch(new URL(part("page").dataset.post, location.href), sent)
  if (answer.status !== 200 && answer.status !== 400) throw new Error(`the answer was not taken (${answer.status})`)
  return answer.status === 200
}

/** Send what waits for a round, and note that it is answered. */
async function deliver(place) {
  if (await post(bytes(localStorage.getItem(place)))) {
    localStorage.setItem(place, "")
    done()
  } else {
    localStorage.setItem(place, LATE)
    late()
  }
}

function late() {
  say("Your answer came too late: this round has ended, and it was not counted.")
}

function done() {
  part("send").disabled = true
  part("choices").disabled = true
  say("Thank you: your answer was randomized on this page and has been taken. This page sends no second one.")
}

function choice(label, place) {
  const line = document.createElement("label")
  const input = document.createElement("input")
  Object.assign(input, { type: "radio", name: "answer", value: String(place), required: true })
  const text = document.createElement("span")
  text.textContent = label
  line.append(input, text)
  return line
}

/** The inputs of a collection, and what reads them. */
function asked({ labels, protocol }) {
  if (protocol.type === "duchi") {
    const input = document.createElement("input")
    Object.assign(input, { type: "number", step: "any", required: true, min: protocol.low, max: protocol.high, ariaLabel: "your answer" })
    part("choices").append(input)
    part("legend").textContent = `Your answer, from ${protocol.low} to ${protocol.high}`
    return () => input.valueAsNumber
  }
  const names = labels.length ? labels : Array.from({ length: Number(protocol.k) }, (_, place) => String(place))
  part("choices").append(...names.map(choice))
  const read = () => Number(document.querySelector("input[name=answer]:checked").value)
  return labels.length ? () => labels[read()] : read
}

async function begin() {
  const answer = await fetch("collection.json", { credentials: "omit", cache: "no-store" })
  if (answer.status !== 200) throw new Error("what is collected could not be read")
  const collection = await Collection.parse(await answer.text(), LIMIT)
  const { name, rounds, protocol } = collection.terms
  part("title").textContent = name
  document.title = name
  const read = asked(collection.terms)
  for (const round of rounds) part("round").append(new Option(round, round))
  part("round-line").hidden = rounds.length === 1
  part("promise").textContent =
    `Your answer is changed at random before it leaves. What is sent shifts the odds between any two answers by a factor of at most ${odds(collection.epsilon)}, for whoever sees it.`
  part("terms").textContent =
    `One report of the protocol ${protocol.type}, which costs epsilon ${collection.epsilon.toFixed(3)}` +
    `${collection.key ? ", sealed so that only the collector can read it" : ""}, under a name that is drawn at random. ` +
    "No cookie, no account, no time. Your address is seen by whoever the report is sent to, and kept by nobody who runs this program unchanged."
  const place = () => kept(collection, part("round").value)
  const look = () => {
    const held = localStorage.getItem(place())
    part("send").disabled = part("choices").disabled = held !== null
    say("")
    if (held === LATE) late()
    else if (held) deliver(place()).catch(() => say("Your answer waits here. It is sent again when you open this page."))
    else if (held === "") done()
  }
  part("round").addEventListener("change", look)
  part("form").addEventListener("submit", async (event) => {
    event.preventDefault()
    part("send").disabled = true
    say("Sending.")
    try {
      const message = await collection.message(read(), part("round").value)
      localStorage.setItem(place(), hex(message)) // before it is sent: what was drawn once is never drawn again
      await deliver(place())
    } catch (error) {
      const waits = localStorage.getItem(place()) ? " Your answer waits here, randomized, and is sent again when you open this page." : ""
      part("send").disabled = Boolean(waits)
      say(`This did not work: ${error.message}.${waits}`)
    }
  })
  part("form").hidden = part("more").hidden = false
  look()
}

begin()
  .catch((error) => say(`This page cannot take an answer: ${error.message}.`))
  .finally(() => part("page").removeAttribute("aria-busy"))
