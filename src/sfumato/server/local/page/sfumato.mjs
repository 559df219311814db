// A client of local collections without dependencies: reads a saved collection, and turns values into messages.
//
//     const pages = await Collection.parse(text, 2)       // the JSON file, and the epsilon that a report may cost
//     const message = await pages.message("mail", "2026-11-15")  // bytes to send, of one round; sealed if declared so
//
// Random bits come from crypto.getRandomValues and nothing else.  Protocols: grr, oue, olh, duchi; others are refused by
// name, as are collections of kept values, parameters that no protocol has, and reports that cost more.  The formats are
// docs/formats/collection.md and docs/formats/reports.md, the samplers docs/formats/samplers.md.

import { publicKey, sealed } from "./seal.mjs"

const FORMATS = ["sfumato-collection/3", "sfumato-collection/4"]
const encoder = new TextEncoder()

/** Random 64-bit words from the system. */
export function systemWords(count) {
  return globalThis.crypto.getRandomValues(new BigUint64Array(count))
}

/** JSON with sorted keys and no blanks. */
function canonical(value) {
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`
  if (value !== null && typeof value === "object") {
    const names = Object.keys(value).sort()
    return `{${names.map((name) => `${JSON.stringify(name)}:${canonical(value[name])}`).join(",")}}`
  }
  if (typeof value !== "string") throw new Error("a saved collection holds texts, lists and objects only")
  return JSON.stringify(value)
}

async function sha256(bytes) {
  return new Uint8Array(await globalThis.crypto.subtle.digest("SHA-256", bytes))
}

const hex = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("")

/** A probability "a/b" strictly between 0 and 1, in units of 2^-62, which its denominator must divide. */
function grains(text) {
  if (!/^[0-9]{1,40}\/[1-9][0-9]{0,39}$/.test(text)) throw new Error(`${text} is no probability; nothing is sent`)
  const [above, below] = text.split("/").map(BigInt)
  const scaled = above << 62n
  if (scaled % below || above <= 0n || above >= below) throw new Error(`${text} is no probability; nothing is sent`)
  return scaled / below
}

/** A whole number from `least` to `most`. */
function whole(text, least, most) {
  const number = Number(text)
  if (!/^[0-9]{1,17}$/.test(text) || number < least || number > most) {
    throw new Error(`${text} is no whole number from ${least} to ${most}; nothing is sent`)
  }
  return number
}

const MOST = 2 ** 20
const share = (chance) => Number(chance) / 2 ** 62

/** True with probability chance / 2^62: one word. */
function coin(chance, words) {
  return words(1)[0] >> 2n < chance
}

/** Exactly uniform below `high`, at most 2^32: the upper half of a word, again while that would be unfair. */
function uniform(high, words) {
  const bound = BigInt(high)
  const unfair = (1n << 32n) % bound
  for (;;) {
    const scaled = (words(1)[0] >> 32n) * bound
    if ((scaled & 0xffffffffn) >= unfair) return Number(scaled >> 32n)
  }
}

/** `value` in `width` bytes, the lowest first. */
function little(value, width) {
  const bytes = new Uint8Array(width)
  for (let place = 0, left = BigInt(value); place < width; place += 1, left >>= 8n) bytes[place] = Number(left & 255n)
  return bytes
}

/** Bytes of the smallest unsigned integer that holds every number below `count`. */
function width(count) {
  return [1, 2, 4].find((size) => count <= 256 ** size) ?? 8
}

/** Addition and multiplication in the field of `order` elements: digits to base p are polynomials modulo x^r + tail. */
function field(order) {
  let p = 2
  while (order % p) p += 1
  let r = 0
  for (let left = order; left > 1; left /= p) {
    if (left % p) throw new Error(`${order} is no power of a prime`)
    r += 1
  }
  const digits = (x) => Array.from({ length: r }, (_, i) => Math.floor(x / p ** i) % p)
  const number = (d) => d.reduce((sum, digit, i) => sum + digit * p ** i, 0)
  const plus = (x, y) => number(digits(x).map((digit, i) => (digit + digits(y)[i]) % p))
  const product = (x, y, tail) => {
    const wide = new Array(2 * r - 1).fill(0)
    digits(x).forEach((a, i) => digits(y).forEach((b, j) => { wide[i + j] += a * b }))
    for (let i = 2 * r - 2; i >= r; i -= 1) tail.forEach((t, j) => { wide[i - r + j] -= (wide[i] % p) * t })
    return number(wide.slice(0, r).map((digit) => ((digit % p) + p) % p))
  }
  const nonzero = (tail, short) => {
    for (let x = 1; x < short; x += 1) for (let y = 1; y < order; y += 1) if (!product(x, y, tail)) return false
    return true
  }
  let tail = 0
  while (!nonzero(digits(tail), Math.min(order, p ** (Math.floor(r / 2) + 1)))) tail += 1
  return { plus, times: (x, y) => product(x, y, digits(tail)) }
}

/** The nearest whole number, ties to the even one. */
function nearest(x) {
  const below = Math.floor(x)
  const rest = x - below
  if (rest === 0.5) return below % 2 ? below + 1 : below
  return rest > 0.5 ? below + 1 : below
}

/** For each protocol: its sampler, and the epsilon that one report costs. */
const SAMPLERS = {
  /** Randomized response: a coin, then a uniform category, which is sent if the coin is tails. */
  grr: (terms) => {
    const k = whole(terms.k, 2, MOST)
    const truthful = grains(terms.truthful)
    const sample = (place, words) => {
      const kept = coin(truthful, words)
      const other = uniform(k, words)
      return little(kept ? place : other, width(k))
    }
    return { sample, epsilon: Math.log1p((share(truthful) * k) / (1 - share(truthful))) }
  },
  /** Unary encoding: every bit with probability q, 64 at a time, digit by digit; then the own bit by a coin of p. */
  oue: (terms) => {
    const bytes = Math.ceil(whole(terms.k, 2, MOST) / 8)
    const [own, off] = [grains(terms.p), grains(terms.q)]
    if (off >= own) throw new Error("q must be below p; nothing is sent")
    const [above, below] = terms.q.split("/")
    const digits = BigInt(below).toString(2).length - 1
    const sample = (place, words) => {
      const held = new BigUint64Array(Math.ceil(bytes / 8))
      for (let digit = 0n; digit < digits; digit += 1n) {
        const one = (BigInt(above) >> digit) & 1n
        words(held.length).forEach((word, i) => { held[i] = one ? held[i] | word : held[i] & word })
      }
      const report = new Uint8Array(bytes)
      report.forEach((_, i) => { report[i] = Number((held[i >> 3] >> BigInt(8 * (i & 7))) & 255n) })
      if (terms.k % 8) report[bytes - 1] &= (1 << terms.k % 8) - 1
      const bit = 1 << (place & 7)
      report[place >> 3] = coin(own, words) ? report[place >> 3] | bit : report[place >> 3] & ~bit
      return report
    }
    const [p, q] = [share(own), share(off)]
    return { sample, epsilon: Math.log((p * (1 - q)) / ((1 - p) * q)) }
  },
  /** Local hashing: a linear hash function onto a field, and randomized response on the hash. */
  olh: (terms) => {
    const [k, g] = [whole(terms.k, 2, MOST), whole(terms.g, 2, 256)]
    const truthful = grains(terms.truthful)
    const { plus, times } = field(g)
    let digits = 1
    while (g ** digits < k) digits += 1
    if (g ** digits > 2 ** 32) throw new Error(`g = ${g} is too large for k = ${k}; nothing is sent`)
    const sample = (place, words) => {
      const [a, b] = [uniform(g ** digits, words), uniform(g, words)]
      const kept = coin(truthful, words)
      const other = uniform(g, words)
      let hash = b
      for (let i = 0; i < digits; i += 1) {
        hash = plus(hash, times(Math.floor(a / g ** i) % g, Math.floor(place / g ** i) % g))
      }
      return little((BigInt(a) * BigInt(g) + BigInt(b)) * BigInt(g) + BigInt(kept ? hash : other), width(g ** (digits + 2)))
    }
    return { sample, epsilon: Math.log1p((share(truthful) * g) / (1 - share(truthful))) }
  },
  /** The mean of a number: one bit, whose chance rises with the value. */
  duchi: (terms) => {
    const steps = whole(terms.steps, 2, MOST)
    if (steps % 2 || !/^[0-9]{1,19}$/.test(terms.tilt)) throw new Error("steps or tilt is wrong; nothing is sent")
    const tilt = BigInt(terms.tilt)
    const most = tilt * BigInt(steps)
    if (tilt < 1n || most >= 1n << 62n) throw new Error(`tilt ${tilt} leaves nothing to hide; nothing is sent`)
    if (!(Number(terms.low) < Number(terms.high))) throw new Error("low must be below high; nothing is sent")
    const sample = (place, words) => little(coin((1n << 61n) + tilt * BigInt(place - steps / 2), words) ? 1 : 0, 1)
    return { sample, epsilon: Math.log((2 ** 62 + Number(most)) / (2 ** 62 - Number(most))) }
  },
}

/** A declared collection, and what its owners' values become. */
export class Collection {
  constructor(terms, bindings, limit, digest) {
    this.terms = terms
    this.bindings = bindings
    this.digest = digest
    this.key = terms.key === undefined ? null : publicKey(terms.key)
    const known = Object.keys(SAMPLERS)
    if (!known.includes(terms.protocol.type)) throw new Error(`protocol ${terms.protocol.type} is not among ${known.join(", ")}`)
    if (terms.most !== undefined) throw new Error("the collection keeps values, which this client does not; nothing is sent")
    const { sample, epsilon } = SAMPLERS[terms.protocol.type](terms.protocol)
    if (!(epsilon <= limit * (1 + 1e-9))) throw new Error(`a report costs epsilon ${epsilon}, more than ${limit}; nothing is sent`)
    this.sample = sample
    this.epsilon = epsilon
  }

  /** The collection of a saved file, whose digest must be that of its other parts; a report may cost `limit`. */
  static async parse(text, limit) {
    if (!(limit > 0)) throw new Error("say what epsilon one report may cost at most")
    const { digest, ...terms } = JSON.parse(text)
    if (!FORMATS.includes(terms.format)) throw new Error(`this is not a collection of the formats ${FORMATS.join(", ")}`)
    const own = await sha256(encoder.encode(canonical(terms)))
    if (digest !== undefined && digest !== hex(own)) throw new Error("the collection was changed after it was saved")
    const bindings = new Map()
    for (const name of terms.rounds) {
      const joined = new Uint8Array([...own, ...encoder.encode(name)])
      bindings.set(name, (await sha256(joined)).slice(0, 16))
    }
    return new Collection(terms, bindings, limit, own)
  }

  /** The place of a value in the domain; what is none is the label `other`, or refused before anything is drawn. */
  place(value) {
    const { labels, other, protocol } = this.terms
    if (protocol.type === "duchi") {
      if (typeof value !== "number" || Number.isNaN(value)) throw new Error("a value must be a number; nothing was sent")
      const [low, high, steps] = [Number(protocol.low), Number(protocol.high), Number(protocol.steps)]
      return nearest(((Math.min(high, Math.max(low, value)) - low) / (high - low)) * steps)
    }
    if (!labels.length) {
      if (Number.isInteger(value) && value >= 0 && value < Number(protocol.k)) return value
      throw new Error("a value must be the position of its category; nothing was sent")
    }
    const found = labels.indexOf(value)
    if (found >= 0) return found
    const unknown = typeof value === "string" || value === null || value === undefined || Number.isNaN(value)
    if (other !== undefined && unknown) return labels.indexOf(other)
    throw new Error("a value must be one of the labels; nothing was sent")
  }

  /** The message for a value in a round; a collection of one round needs no name. */
  async message(value, round = undefined, words = systemWords) {
    if (!this.key) return this.report(value, round, words)
    const name = this.round(round)
    const record = new Uint8Array([...systemBytes(16), ...this.sample(this.place(value), words)]) // a token and the report
    const info = new Uint8Array([...encoder.encode("sfumato-collection/4"), ...this.digest, ...encoder.encode(name)])
    return packed(3, this.bindings.get(name), await sealed(record, this.key, info))
  }

  /** The same at once, of a collection that is not sealed. */
  report(value, round = undefined, words = systemWords) {
    if (this.key) throw new Error("reports of this collection are sealed: await message(...); nothing was sent")
    const name = this.round(round)
    return packed(2, this.bindings.get(name), this.sample(this.place(value), words))
  }

  /** The name of a round that there is. */
  round(given) {
    const { rounds } = this.terms
    const name = given === undefined && rounds.length === 1 ? rounds[0] : given
    if (!this.bindings.has(name)) throw new Error(`there is no round ${name}, only ${rounds.join(", ")}; nothing was sent`)
    return name
  }
}

const systemBytes = (count) => globalThis.crypto.getRandomValues(new Uint8Array(count))

/** A message of one record: magic, version, no flags, what it belongs to, a fresh name, the count. */
function packed(version, binding, record) {
  return new Uint8Array([
    ...encoder.encode("SFLR"), version, 0, 0, 0, ...binding, ...systemBytes(16), ...little(1, 8), ...record,
  ])
}
