// One report a round, the same bytes until they are taken: node device.mjs pages.json URL ROUND VALUE FOLDER
// The client is two files: copy sfumato.mjs and seal.mjs, which it imports, to one folder and change the path below.
import { readFile, rename, writeFile } from "node:fs/promises"
import { webcrypto } from "node:crypto"
import { Collection } from "../../src/sfumato/server/local/page/sfumato.mjs"

globalThis.crypto ??= webcrypto // Node 18
const [declaration, url, round, value, folder] = process.argv.slice(2)
const pages = await Collection.parse(await readFile(declaration, "utf8"), 2) // a report may cost epsilon 2 at most
const kept = `${folder}/${Buffer.from(pages.bindings.get(pages.round(round))).toString("hex")}.sfr`
let message = await readFile(kept).catch(() => null)
if (message === null) {
  await writeFile(`${kept}.new`, message = await pages.message(value, round))
  await rename(`${kept}.new`, kept) // before it is sent: a retry is neither new noise nor a second report
}
for (let seconds = 1; message.length > 0; seconds = Math.min(2 * seconds, 3600)) {
  const { status } = await fetch(url, { method: "POST", body: message }).catch(() => ({ status: 503 }))
  if (status === 200 || status === 400) break // taken, or refused for good; 429 and 503 mean: again
  await new Promise((done) => setTimeout(done, 1000 * seconds))
}
await writeFile(kept, "") // empty: this round has had its report
