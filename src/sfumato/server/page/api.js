// The service over HTTP.  The cookie signs in; the header tells the server that this page asked, and no other site.

const ROOT = "/api/v1";

export class Refusal extends Error {
  constructor(status, record) {
    super(record?.message ?? (status ? `the service answered ${status}` : "the service does not answer; is it running?"));
    this.status = status;
    this.type = record?.error ?? "";
  }
}

const signals = { signedOut: () => {} };
export const onSignedOut = (run) => { signals.signedOut = run; };

export async function call(method, path, body, signal) {
  const headers = { Accept: "application/json" };
  if (method !== "GET") headers["X-Sfumato"] = "1";
  if (body !== undefined) headers["Content-Type"] = "application/json";
  let response;
  try {
    response = await fetch(ROOT + path, {
      method, headers, signal, credentials: "same-origin", cache: "no-store",
      body: body === undefined ? undefined : JSON.stringify(body),
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refusal(0, null);
  }
  const text = await response.text();
  let record = null;
  try { record = text ? JSON.parse(text) : null; } catch { record = null; }
  if (response.ok) return record;
  if (response.status === 401 && path !== "/login") signals.signedOut();
  throw new Refusal(response.status, record);
}

export const read = (path, signal) => call("GET", path, undefined, signal);
export const send = (path, body, signal) => call("POST", path, body, signal);
export const about = (dataset, rest = "") => `/datasets/${encodeURIComponent(dataset)}${rest}`;
export const download = (dataset, release, format) =>
  `${ROOT}${about(dataset, `/releases/${encodeURIComponent(release)}`)}?format=${format}`;
