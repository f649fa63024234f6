import { nodeParts } from './node-parts.mjs'

const HEADING = /^- ([^,\n]+), located at (.+), is licensed as follows:$/gm

const HEAD = `Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: connbook
Comment: On Debian, the Apache License 2.0 is also in /usr/share/common-licenses/Apache-2.0.
`

/**
 * Debian's form of the notices (Debian Policy, "Machine-readable debian/copyright file"): connbook, Node, and each part of
 * Node that is inside, in the words of its authors.
 *
 * @param {string} licence What connbook's own package.json says.
 * @param {string} notices Node's LICENSE.
 * @throws {Error} if the notices are in another form than Node's.
 */
export function debianCopyright(licence, notices) {
  const headings = [...notices.matchAll(HEADING)]
  const [first] = headings
  if (first === undefined) throw new Error('Cannot read the licences of Node: no part is named in them')
  const parts = headings.flatMap(({ 0: line, 1: name = '', 2: place = '', index }, i) => {
    const known = nodeParts.find((part) => part.name === name.toLowerCase())
    if (known === undefined) return []
    const text = notices.slice(index + line.length, headings[i + 1]?.index)
    // One file, or a folder.
    const files = /\.\w+$/.test(place) ? place : `${place.replace(/\/$/, '')}/*`
    return [stanza(`node/${files}`, name, known.license, text)]
  })
  return [
    HEAD,
    stanza('*', 'connbook', licence, `connbook's own code is under the licence ${licence}.`),
    stanza('node/*', 'Node.js', 'MIT', notices.slice(notices.indexOf('\n\n'), first.index)),
    ...parts,
  ].join('\n')
}

/** @type {(files: string, name: string, licence: string, text: string) => string} */
function stanza(files, name, licence, text) {
  const found = text.matchAll(/^.*?\bCopyright (?!License)((?:\([cC]\)|©|\d|[A-Z][a-z.]).*)$/gm)
  const holders = [...new Set(Array.from(found, ([, holder = '']) => holder.trim()))]
  const lines = text
    .replaceAll(/^ *"""\n?/gm, '')
    .replaceAll(/^ {4}/gm, '')
    .replace(/^(\s*\n)+/, '')
    .trimEnd()
    .split('\n')
    .map((line) => (line.trim() === '' ? ' .' : ` ${line.trimEnd()}`))
  return `Files: ${files}\nCopyright: ${holders.join('\n ') || `the authors of ${name}`}\nLicense: ${licence}\n${lines.join('\n')}\n`
}
