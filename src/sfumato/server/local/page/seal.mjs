// Records sealed to the collector: RFC 9180 in base mode with DHKEM(X25519, HKDF-SHA256), HKDF-SHA256 and AES-128-GCM,
// one shot, from what every browser and Node has (crypto.subtle).  Only `info` binds; there are no associated data.

const encoder = new TextEncoder()
const NOTHING = new Uint8Array(0)
const KEM = [...encoder.encode("KEM"), 0, 0x20]
const SUITE = [...encoder.encode("HPKE"), 0, 0x20, 0, 1, 0, 1]

const joined = (...parts) => new Uint8Array(parts.flatMap((part) => [...part]))

/** HMAC with SHA-256; no key and one of zeros are the same to it. */
async function hmac(key, bytes) {
  const held = key.length ? key : new Uint8Array(32)
  const imported = await crypto.subtle.importKey("raw", held, { name: "HMAC", hash: "SHA-256" }, false, ["sign"])
  return new Uint8Array(await crypto.subtle.sign("HMAC", imported, bytes))
}

/** LabeledExtract of RFC 9180. */
const extracted = (suite, salt, label, secret) =>
  hmac(salt, joined(encoder.encode("HPKE-v1"), suite, encoder.encode(label), secret))

/** LabeledExpand of RFC 9180, of at most 32 bytes. */
async function expanded(suite, key, label, info, length) {
  const asked = joined([length >> 8, length & 255], encoder.encode("HPKE-v1"), suite, encoder.encode(label), info, [1])
  return (await hmac(key, asked)).slice(0, length)
}

/** The public key of a collection, from its hexadecimal digits; refused if it is none. */
export function publicKey(text) {
  if (!/^[0-9a-f]{64}$/.test(text)) throw new Error("the collection's key is no public key; nothing is sent")
  return Uint8Array.from({ length: 32 }, (_, place) => parseInt(text.slice(2 * place, 2 * place + 2), 16))
}

/** The record as only the holder of the private key can read it: an encapsulated key, the ciphertext and its tag. */
export async function sealed(record, key, info) {
  const own = await crypto.subtle.generateKey({ name: "X25519" }, false, ["deriveBits"])
  const their = await crypto.subtle.importKey("raw", key, { name: "X25519" }, false, [])
  const encapsulated = new Uint8Array(await crypto.subtle.exportKey("raw", own.publicKey))
  const shared = new Uint8Array(await crypto.subtle.deriveBits({ name: "X25519", public: their }, own.privateKey, 256))
  if (shared.every((byte) => byte === 0)) throw new Error("the collection's key is no public key; nothing is sent")
  const first = await extracted(KEM, NOTHING, "eae_prk", shared)
  const secret = await expanded(KEM, first, "shared_secret", joined(encapsulated, key), 32)
  const named = await extracted(SUITE, NOTHING, "psk_id_hash", NOTHING)
  const bound = joined([0], named, await extracted(SUITE, NOTHING, "info_hash", info))
  const scheduled = await extracted(SUITE, secret, "secret", NOTHING)
  const iv = await expanded(SUITE, scheduled, "base_nonce", bound, 12)
  const raw = await expanded(SUITE, scheduled, "key", bound, 16)
  const cipher = await crypto.subtle.importKey("raw", raw, { name: "AES-GCM" }, false, ["encrypt"])
  return joined(encapsulated, new Uint8Array(await crypto.subtle.encrypt({ name: "AES-GCM", iv }, cipher, record)))
}
