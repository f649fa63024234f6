import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { FILE_BYTES_MAX, guessFormat, readLines, whyNoText } from '../../src/console/import-format.ts'
import { IMPORT_BYTES_MAX } from '../../src/limits.ts'

describe('the guess of a format', () => {
  for (const [name, head, expected] of [
    ['hosts.csv', '', 'csv'],
    ['hosts.JSON', '', 'json'],
    ['hosts.ndjson', '', 'jsonl'],
    ['ssh_config', '', 'ssh-config'],
    ['config', '# mine', 'ssh-config'],
    ['', '[{"name":"a"}]', 'json'],
    ['', '{"configurations":[', 'json'],
    ['', '{\n  "configurations": []\n}', 'json'],
    ['hosts.json', '{"name":"a"}\n{"name":"b"}\n', 'jsonl'],
    ['hosts.txt', '\ufeffname,hostname,port,username\n', 'csv'],
    ['', '"username","name"\r\n', 'csv'],
    ['', 'name;hostname;port;username\n', 'csv'],
    ['hosts.txt', '\n# mine\n\nHost a\n  User u\n', 'ssh-config'],
    ['', 'host=a\n', 'ssh-config'],
    ['.pg_service.conf', '', 'pg-service'],
    ['hosts.conf', '# mine\n[my db]\nhost=h\n', 'pg-service'],
    ['', '[1]', 'pg-service'],
    ['hosts.json', '{\n    "_meta": {', 'ansible'],
    ['rack.csv', 'Host Name;IP;Rack\r\n', 'csv'],
    ['', 'Host Name\tIP\tRack\r\n', 'csv'],
    ['', 'host|ip\n', 'csv'],
    ['', 'Host\tname\n', 'ssh-config'],
    ['', 'Match host a,b\n', 'ssh-config'],
    ['', '[\n  1]', 'json'],
    ['', 'anything', 'csv'],
  ] as const) {
    it(`takes ${JSON.stringify(head)} in "${name}" for ${expected}`, () => {
      assert.equal(guessFormat(name, head), expected)
    })
  }

  it('says what a file is that is not text', () => {
    assert.match(whyNoText(Uint8Array.of(0x50, 0x4b, 3, 4)) ?? '', /workbook/)
    assert.match(whyNoText(Uint8Array.of(0x1f, 0x8b, 8)) ?? '', /gzip/)
    assert.equal(whyNoText(Uint8Array.of(0xff, 0xfe, 0x61, 0)), undefined)
    assert.equal(whyNoText(Uint8Array.of(0xfe, 0xff, 0, 0x61)), undefined)
    assert.match(whyNoText(Uint8Array.of(0x61, 0)) ?? '', /no text/)
    assert.equal(whyNoText(new TextEncoder().encode('name\té\r\n')), undefined)
  })
})

describe('lines of a file', () => {
  it('are found across pieces, cut at their beginning, without the CR', async () => {
    const long = 'é'.repeat(100_000)
    const found = await readLines(new Blob(['a\r\n', `${long}\n\nlast`]), [1, 2, 3, 4, 9])
    assert.deepEqual([found.get(1), found.get(3), found.get(4), found.get(9)], ['a', '', 'last', undefined])
    assert.equal(found.get(2), `${'é'.repeat(400)}…`)
  })

  it('are found in UTF-16, of either byte order', async () => {
    const bytes = Buffer.from(`\ufeffa\r\n\u0a0a${'x'.repeat(400)}\r\n\u{1f5a5}`, 'utf16le')
    for (const file of [new Blob([bytes]), new Blob([Buffer.from(bytes).swap16()])]) {
      const found = await readLines(file, [1, 2, 3])
      assert.deepEqual([...found.values()], ['a', `\u0a0a${'x'.repeat(399)}…`, '\u{1f5a5}'])
    }
  })
})

it('takes files as large as the API does', () => {
  assert.equal(FILE_BYTES_MAX, IMPORT_BYTES_MAX)
})
