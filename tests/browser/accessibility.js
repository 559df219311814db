// What can be checked of a page by a program: names, headings, landmarks, contrast, room.  Gives a list of what is wrong.
() => {
  const wrong = []
  const shown = (node) => {
    const box = node.getBoundingClientRect(), style = getComputedStyle(node)
    return box.width > 0 && box.height > 0 && style.visibility !== "hidden" && !node.closest("[hidden],.unseen")
  }
  const where = (node) => `<${node.tagName.toLowerCase()}${node.id ? ` #${node.id}` : ""}> ${node.textContent.trim().slice(0, 40)}`
  const named = (node) => {
    if (node.getAttribute("aria-label")?.trim()) return true
    const by = node.getAttribute("aria-labelledby")?.split(/\s+/).map((id) => document.getElementById(id)?.textContent.trim()).join("")
    if (by) return true
    if ([...(node.labels ?? [])].some((label) => label.textContent.trim())) return true
    return ["BUTTON", "A", "SUMMARY"].includes(node.tagName) && Boolean(node.textContent.trim())
  }
  for (const node of document.querySelectorAll("button, a[href], input:not([type=hidden]):not([hidden]), select, textarea, summary, progress, [tabindex='0'], [role=tab], [role=tabpanel], [role=region], [role=group]")) {
    if (!named(node)) wrong.push(`no name: ${where(node)}`)
  }
  for (const node of document.querySelectorAll("[aria-describedby],[aria-labelledby],[aria-controls],label[for]")) {
    for (const name of ["aria-describedby", "aria-labelledby", "aria-controls", "for"]) {
      for (const id of node.getAttribute(name)?.split(/\s+/) ?? []) {
        if (!document.getElementById(id)) wrong.push(`${name} leads nowhere: ${where(node)}`)
      }
    }
  }
  for (const image of document.querySelectorAll("img:not([alt]), svg[role=img]:not([aria-label])")) wrong.push(`no text for a picture: ${image.outerHTML.slice(0, 80)}`)
  for (const svg of document.querySelectorAll("svg:not([role=img]):not([aria-hidden])")) wrong.push(`a picture that is neither named nor hidden: ${svg.outerHTML.slice(0, 80)}`)
  const ids = [...document.querySelectorAll("[id]")].map((node) => node.id)
  for (const id of new Set(ids)) if (ids.filter((one) => one === id).length > 1) wrong.push(`the id ${id} stands twice`)
  if (document.querySelectorAll("main").length !== 1 || !document.querySelector("header")) wrong.push("landmarks: one main and a header")
  if (!document.documentElement.lang || !document.title.trim()) wrong.push("a language and a title")
  if (!document.querySelector("[aria-live]")) wrong.push("nothing tells what changes")
  const levels = [...document.querySelectorAll("h1,h2,h3,h4")].filter(shown).map((node) => Number(node.tagName[1]))
  if (levels.filter((level) => level === 1).length !== 1) wrong.push(`headings of the first level: ${levels}`)
  levels.forEach((level, place) => { if (place && level > levels[place - 1] + 1) wrong.push(`a level of headings is left out: ${levels}`) })

  const parsed = (text) => { const parts = text.match(/[\d.]+/g)?.map(Number) ?? [0, 0, 0, 0]; return parts.length < 4 ? [...parts.slice(0, 3), 1] : parts }
  const over = (top, below) => [0, 1, 2].map((part) => top[part] * top[3] + below[part] * (1 - top[3])).concat(1)
  const light = ([r, g, b]) => {
    const [x, y, z] = [r, g, b].map((part) => { const share = part / 255; return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4 })
    return 0.2126 * x + 0.7152 * y + 0.0722 * z
  }
  const contrast = (one, two) => { const [high, low] = [light(one), light(two)].sort((a, b) => b - a); return (high + 0.05) / (low + 0.05) }
  const ground = (node) => {
    let found = [0, 0, 0, 0]
    const layers = []
    for (let at = node; at; at = at.parentElement) {
      const color = parsed(getComputedStyle(at).backgroundColor)
      layers.push(color)
      if (color[3] === 1) break
    }
    found = [255, 255, 255, 1]
    for (const layer of layers.reverse()) found = over(layer, found)
    return found
  }
  const seen = new Set()
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
  for (let text = walker.nextNode(); text; text = walker.nextNode()) {
    const node = text.parentElement
    if (!text.textContent.trim() || seen.has(node) || !shown(node) || ["SCRIPT", "NOSCRIPT", "STYLE", "OPTION"].includes(node.tagName)) continue
    seen.add(node)
    const style = getComputedStyle(node)
    const drawn = node instanceof SVGElement ? style.fill : style.color
    if (drawn === "none") continue
    const below = ground(node)
    const size = parseFloat(style.fontSize), large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700)
    const found = contrast(over(parsed(drawn), below), below)
    if (found < (large ? 3 : 4.5)) wrong.push(`contrast ${found.toFixed(2)}: ${where(node)}`)
  }
  for (const node of document.querySelectorAll("input:not([type=range]):not([type=checkbox]):not([hidden]), select, textarea")) {
    if (!shown(node)) continue
    const found = contrast(parsed(getComputedStyle(node).borderTopColor), ground(node.parentElement))
    if (found < 3) wrong.push(`edge of a field, contrast ${found.toFixed(2)}: ${where(node)}`)
  }
  if (document.documentElement.scrollWidth > innerWidth) wrong.push(`wider than the screen: ${document.documentElement.scrollWidth} > ${innerWidth}`)
  return [...new Set(wrong)]
}
