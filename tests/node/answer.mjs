// Reads jobs from standard input, one JSON object a line, and writes one line of hexadecimal messages for each:
// {"collection": "...", "epsilon": 2, "round": "...", "values": [...], "words": ["..."]}; without words, bits are the
// system's.

import { createInterface } from "node:readline"
import { webcrypto } from "node:crypto"
import { Collection, systemWords } from "../../src/sfumato/server/local/page/sfumato.mjs"

globalThis.crypto ??= webcrypto // Node 18

for await (const line of createInterface({ input: process.stdin })) {
  const { collection, epsilon, round, values, words } = JSON.parse(line)
  try {
    const declared = await Collection.parse(collection, epsilon)
    let taken = 0
    const given = (count) => {
      const found = BigUint64Array.from(words.slice(taken, taken + count).map(BigInt))
      taken += count
      return found
    }
    const messages = []
    for (const value of values) messages.push(await declared.message(value, round ?? undefined, words ? given : systemWords))
    const hex = messages.map((message) => Buffer.from(message).toString("hex"))
    console.log(JSON.stringify({ messages: hex, words: taken }))
  } catch (error) {
    console.log(JSON.stringify({ refused: error.message }))
  }
}
