// A client of local collections without dependencies: reads a saved collection, and turns values into messages.
//
//     const pages = await Collection.parse(text)          // the JSON file; its digest is checked
//     const message = pages.report("mail", "2026-11-15")  // bytes to send, of one round
//
// Random bits come from crypto.getRandomValues and nothing else.  Protocols: grr, oue, olh, duchi; others are refused by
// name.  The formats are docs/formats/collection.md and docs/formats/reports.md, the samplers docs/formats/samplers.md.

const FORMAT = "sfumato-collection/3"
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

/** A fraction "a/b" whose denominator divides 2^62, in units of 2^-62. */
function grains(text) {
  const [above, below = "1"] = text.split("/")
  const scaled = BigInt(above) << 62n
  if (scaled % BigInt(below)) throw new Error(`${text} is no multiple of 2^-62`)
  return scaled / BigInt(below)
}

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

const SAMPLERS = {
  /** Randomized response: a coin, then a uniform category, which is sent if the coin is tails. */
  grr: (terms) => {
    const k = Number(terms.k)
    const truthful = grains(terms.truthful)
    return (place, words) => {
      const kept = coin(truthful, words)
      const other = uniform(k, words)
      return little(kept ? place : other, width(k))
    }
  },
  /** Unary encoding: every bit with probability q, 64 at a time, digit by digit; then the own bit by a coin of p. */
  oue: (terms) => {
    const bytes = Math.ceil(Number(terms.k) / 8)
    const [above, below = "1"] = terms.q.split("/")
    const digits = BigInt(below).toString(2).length - 1
    const own = grains(terms.p)
    return (place, words) => {
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
  },
  /** Local hashing: a linear hash function onto a field, and randomized response on the hash. */
  olh: (terms) => {
    const [k, g] = [Number(terms.k), Number(terms.g)]
    const truthful = grains(terms.truthful)
    const { plus, times } = field(g)
    let digits = 1
    while (g ** digits < k) digits += 1
    return (place, words) => {
      const [a, b] = [uniform(g ** digits, words), uniform(g, words)]
      const kept = coin(truthful, words)
      const other = uniform(g, words)
      let hash = b
      for (let i = 0; i < digits; i += 1) {
        hash = plus(hash, times(Math.floor(a / g ** i) % g, Math.floor(place / g ** i) % g))
      }
      return little((BigInt(a) * BigInt(g) + BigInt(b)) * BigInt(g) + BigInt(kept ? hash : other), width(g ** (digits + 2)))
    }
  },
  /** The mean of a number: one bit, whose chance rises with the value. */
  duchi: (terms) => {
    const [steps, tilt] = [Number(terms.steps), BigInt(terms.tilt)]
    return (place, words) => little(coin((1n << 61n) + tilt * BigInt(place - steps / 2), words) ? 1 : 0, 1)
  },
}

/** A declared collection, and what its owners' values become. */
export class Collection {
  constructor(terms, bindings) {
    this.terms = terms
    this.bindings = bindings
    const make = SAMPLERS[terms.protocol.type]
    if (!make) throw new Error(`protocol ${terms.protocol.type} is not among ${Object.keys(SAMPLERS).join(", ")}`)
    this.sample = make(terms.protocol)
  }

  /** The collection of a saved file, whose digest must be that of its other parts. */
  static async parse(text) {
    const { digest, ...terms } = JSON.parse(text)
    if (terms.format !== FORMAT) throw new Error(`this is not a collection of format ${FORMAT}`)
    const own = await sha256(encoder.encode(canonical(terms)))
    if (digest !== undefined && digest !== hex(own)) throw new Error("the collection was changed after it was saved")
    const bindings = new Map()
    for (const name of terms.rounds) {
      const joined = new Uint8Array([...own, ...encoder.encode(name)])
      bindings.set(name, (await sha256(joined)).slice(0, 16))
    }
    return new Collection(terms, bindings)
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
  report(value, round = undefined, words = systemWords) {
    const { rounds } = this.terms
    const name = round === undefined && rounds.length === 1 ? rounds[0] : round
    const binding = this.bindings.get(name)
    if (!binding) throw new Error(`there is no round ${name}; nothing was sent`)
    const place = this.place(value)
    const report = this.sample(place, words)
    const message = new Uint8Array(48 + report.length)
    message.set(encoder.encode("SFLR"), 0)
    message.set([2, 0, 0, 0], 4)
    message.set(binding, 8)
    globalThis.crypto.getRandomValues(message.subarray(24, 40))
    message.set(little(1, 8), 40)
    message.set(report, 48)
    return message
  }
}
