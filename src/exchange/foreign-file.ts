/** A kind of file that is not imported, and the way from there. */
interface ForeignKind {
  /** What such a file begins with. */
  readonly head?: RegExp
  /** What its first line is that says something: no blank one, no comment, and not the `---` before YAML. */
  readonly line?: RegExp
  /** What it is called. */
  readonly name?: RegExp
  readonly what: string
  readonly way: string
}

/** Characters that are enough to know a file by. */
export const FOREIGN_HEAD_CHARACTERS = 2_000
/** The first bytes of a workbook, a document or an archive; with a fourth one. */
export const PACKED = 'PK\x03'

const AS_CSV = 'make CSV of it: connbook help import says how'
const BY_ANSIBLE = 'make JSON of it with: ansible-inventory -i FILE --list > inventory.json'
const ADDRESS = '(?:\\d{1,3}(?:\\.\\d{1,3}){3}|[\\da-f]*:[\\da-f:.]+(?:%\\S+)?)'
const HOSTS_LINE = new RegExp(`^${ADDRESS}[ \\t]+[^\\s,;|]+`, 'i')
const INI_INVENTORY = "an inventory in Ansible's INI form"

const foreignKinds: readonly ForeignKind[] = [
  {
    head: new RegExp(`^${PACKED}`),
    name: /\.(?:xlsx|xlsm|ods|docx|odt|zip)$/i,
    what: 'a workbook, a document or an archive',
    way: 'open it, and save the sheet as "CSV UTF-8"',
  },
  {
    head: /^(?:Windows Registry Editor|REGEDIT4)/,
    name: /\.reg$/i,
    what: 'a file of the Windows registry, as PuTTY has one',
    way: AS_CSV,
  },
  {
    head: /^\s*(?:<\?xml[^>]*>\s*)?(?:<!--.*?-->\s*)?<(?:\w+:)?Connections\b/s,
    what: 'a file of mRemoteNG',
    way: AS_CSV,
  },
  { head: /^\s*<[?!A-Za-z]/, name: /\.(?:xml|rdg|html?)$/i, what: 'a file of XML or HTML', way: AS_CSV },
  { head: /^\s*\[remmina\]/, name: /\.remmina$/i, what: 'a file of Remmina', way: AS_CSV },
  { head: /^[^\n#]*\bansible_\w+\s*=/m, what: INI_INVENTORY, way: BY_ANSIBLE },
  { head: /^\[[\w.-]+:(?:children|vars)\]/m, what: INI_INVENTORY, way: BY_ANSIBLE },
  { line: /^(?:all|ungrouped):$/, what: 'an inventory in YAML', way: BY_ANSIBLE },
  { line: HOSTS_LINE, what: 'a list like /etc/hosts', way: AS_CSV },
  { name: /\.ya?ml$/i, what: 'a file of YAML, such as an inventory of Ansible', way: BY_ANSIBLE },
  { name: /\.ini$/i, what: 'a file of INI, such as an inventory of Ansible', way: BY_ANSIBLE },
]

/**
 * What a file of another tool is, and how its records come in, to complete "The file …"; undefined for any other file.
 *
 * @param head The first characters.
 * @param name The name of the file, if there is one.
 */
export function describeForeignFile(head: string, name = ''): string | undefined {
  const text = head.slice(0, FOREIGN_HEAD_CHARACTERS)
  const line =
    text
      .split('\n')
      .map((each) => each.trim())
      .find(saysSomething) ?? ''
  const found =
    foreignKinds.find((kind) => kind.head?.test(text) || kind.line?.test(line)) ??
    foreignKinds.find((kind) => kind.name?.test(name))
  return found === undefined ? undefined : `is ${found.what}: ${found.way}`
}

function saysSomething(line: string): boolean {
  return line !== '' && !line.startsWith('#') && !line.startsWith('---')
}
