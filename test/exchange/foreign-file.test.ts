import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { InvalidInputError } from '../../src/errors.ts'
import { describeForeignFile } from '../../src/exchange/foreign-file.ts'
import { HEADER, read } from './read-text.ts'

const PUTTY =
  'Windows Registry Editor Version 5.00\r\n\r\n[HKEY_CURRENT_USER\\Software\\SimonTatham\\PuTTY\\Sessions\\web1]\r\n"HostName"="192.0.2.1"\r\n'

/** The beginning of a file, or its name, and words that must be said of it. */
const files: readonly (readonly [head: string, words: RegExp])[] = [
  [PUTTY, /PuTTY.*CSV/],
  ['<?xml version="1.0"?>\n<!-- x -->\n<mrng:Connections Name="Connections">', /mRemoteNG.*CSV/],
  ['<?xml version="1.0"?>\n<RDCMan>', /XML.*CSV/],
  ['[remmina]\nname=web1\nserver=192.0.2.1:22\n', /Remmina.*CSV/],
  ['# mine\n\n127.0.0.1\tlocalhost\n', /\/etc\/hosts.*CSV/],
  ['::1 ip6-localhost\n', /\/etc\/hosts.*CSV/],
  ['[web]\nweb1 ansible_host=192.0.2.1\n', /INI.*ansible-inventory/],
  ['[web]\nweb1\n[prod:children]\nweb\n', /INI.*ansible-inventory/],
  ['---\n# mine\nall:\n  hosts:\n', /YAML.*ansible-inventory/],
]

describe('a file of another tool', () => {
  for (const [head, words] of files)
    it(`is told by its beginning: ${JSON.stringify(head.slice(0, 30))}`, () => {
      assert.match(describeForeignFile(head) ?? '', words)
      const [first] = read('csv', head).faults
      assert.match(first?.detail ?? '', words)
      assert.equal(first?.field, 'document')
    })

  it('is told in UTF-16, as PuTTY writes it, and where it is packed', () => {
    const wide = Buffer.from(`\ufeff${PUTTY}`, 'utf16le')
    assert.match(read('csv', wide).faults[0]?.detail ?? '', /PuTTY/)
    const packed = Buffer.from('PK\x03\x04\x14\x00\x06\xff', 'latin1')
    const isRefused = (error: unknown) =>
      error instanceof InvalidInputError && /"CSV UTF-8"/.test(error.message)
    assert.throws(() => read('csv', packed), isRefused)
  })

  it('is told by its name, where that is all there is', () => {
    for (const name of ['a.xlsx', 'b.ODS', 'c.docx', 'd.zip', 'e.reg', 'f.remmina', 'g.yml', 'h.ini'])
      assert.match(describeForeignFile('', name) ?? '', /^is a /, name)
    for (const name of ['hosts.csv', 'config', 'hosts.json', ''])
      assert.equal(describeForeignFile(`${HEADER}\nweb,h,22,u\n`, name), undefined, name)
  })

  it('is not what is refused for another reason', () => {
    for (const text of [`${HEADER}\nweb,h,x,u\n`, 'a,b\n192.0.2.1,web\n', 'names\nweb1\n'])
      assert.doesNotMatch(JSON.stringify(read('csv', text).faults), /"document"/)
  })

  it('is not what has rows, however many of them are at fault', () => {
    const record = { name: 'a', hostname: 'h', port: 0, username: 'u', labels: { note: 'ansible_port=1' } }
    const texts = [
      ['csv', `${HEADER},labels\na,h,0,u,note=ansible_port=1\n`],
      ['csv', `${HEADER},labels\na,h,22,ansible_port=1\n`],
      ['json', `[${JSON.stringify(record)}]`],
      ['jsonl', `${JSON.stringify(record)}\n`],
      ['ssh-config', 'Host a\n  User u\n  Port 0\n  SetEnv ansible_port=1\n'],
      ['pg-service', '[web:vars]\nhost=h\n'],
    ] as const
    for (const [format, text] of texts) {
      const { faults, faultCount } = read(format, text)
      assert.ok(faultCount > 0, text)
      assert.doesNotMatch(JSON.stringify(faults), /"document"/, text)
    }
  })

  it('is looked at in no more than its beginning, in linear time', () => {
    const lines = ['\n', '\r\n', ' \n', '\t\n', '#\r\n', '# \n', '---\n', ' # --- \r\n']
    for (const line of lines)
      assert.equal(describeForeignFile(`${line.repeat(2_000)}x`), undefined, JSON.stringify(line))
    for (const text of ['ansible_'.repeat(1_000_000), '# \n'.repeat(1_000_000), `${'[a:'.repeat(500_000)}\n`])
      assert.equal(describeForeignFile(text), undefined)
  })
})
