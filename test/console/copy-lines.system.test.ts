import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { describe, it } from 'node:test'
import { copyLines, usualLine } from '../../src/console/copy-lines.ts'

const record = { id: 1, name: 'web1', hostname: 'web1.example.net', port: 2222, username: 'deploy' }
const api = { url: (path: string) => `https://connbook.example.net/base/${path}` }
const nobody = () => undefined

/** The words that a shell gives the commands. */
function wordsOf(line: string): string[] {
  const script = `ssh() { printf '%s\\0' "$@"; }; curl() { printf '%s\\0' "$@"; }; TOKEN=t; ${line}`
  return execFileSync('sh', ['-c', script], { encoding: 'utf8' }).split('\0').slice(0, -1)
}

describe('the lines that the console copies', () => {
  it('give a shell one word, and no option, whatever the record holds', () => {
    for (const username of [
      '-oProxyCommand=x',
      "a'b",
      '$(touch x)',
      '`x`',
      'a b',
      'ü',
      '"',
      '\\',
      'a\\b',
      '$HOME',
      '*',
      '~',
      '#x',
      'a;b',
    ]) {
      const { text, fault } = usualLine({ ...record, username }, nobody)
      const words = wordsOf(text)
      assert.deepEqual(words, fault === undefined ? ['-p', '2222', '--', `${username}@web1.example.net`] : [])
      const address = copyLines({ ...record, username }, nobody, api)[1]?.text
      assert.deepEqual(wordsOf(`ssh ${address}`), [`${username}@web1.example.net:2222`])
    }
    const [, , curl] = copyLines({ ...record, name: "'$(x)/ü" }, nobody, api)
    assert.deepEqual(wordsOf(curl?.text ?? ''), [
      '-H',
      'Authorization: Bearer t',
      `${api.url('configurations/')}${encodeURIComponent("'$(x)/ü")}`,
    ])
  })
})
