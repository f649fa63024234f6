import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { missing } from '../support/debian.ts'
import { freePort } from '../support/free-port.ts'
import { hasTerminals, startAtTerminal } from '../support/pseudo-terminal.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { openReaderShell } from './host.ts'
import { blocksOf } from './published.ts'
import { assertShown, stepsOf } from './steps.ts'

const root = join(import.meta.dirname, '../..')

describe('the README', async () => {
  const readme = await readFile(join(root, 'README.md'), 'utf8')
  const inLanguage = (language: string) =>
    blocksOf(readme).find((block) => block.language === language)?.text ?? assert.fail(`no ${language}`)

  it('shows what the first start prints on a terminal', { skip: !hasTerminals }, async (t) => {
    const folder = await temporaryFolder(t)
    const port = String(await freePort())
    const terminal = startAtTerminal(t, ['--data', join(folder, 'data'), '--port', port])
    await terminal.sees('ACCESS_TOKEN')
    await terminal.sees('/configurations/\r\n')
    const output = inLanguage('text')
      .trim()
      .replace(/^\$ connbook\n/, '')
      .replaceAll('8080', port)
    const text = terminal.screen().replaceAll('\r', '').trim()
    assertShown({ command: 'connbook', output: output.split('\n') }, { text, code: 0 })
  })

  it('has commands that work, and makes a configuration that ssh reads', {
    skip: missing('curl') || missing('ssh'),
  }, async (t) => {
    const shell = await openReaderShell(t)
    const run = (line: string) => shell.run(shell.moved(line))
    await run('connbook 2> connbook.log &')
    await run('until curl -sf localhost:8080/readyz; do sleep 0.1; done')
    const steps = blocksOf(readme).flatMap(({ language, text }) => (language === 'sh' ? stepsOf(text) : []))
    assert.equal(steps.filter(({ command }) => command.startsWith('curl ')).length, 4)
    for (const { command } of steps) {
      const { text, code } = await run(
        command.replace('curl ', 'curl -sS --fail-with-body ').replace(' -f ', ' '),
      )
      assert.equal(code, 0, `${command}\n${text}`)
    }
    const { text } = await run('ssh -G -F ssh_config web1')
    for (const line of ['hostname web1.example.net', 'user deploy', 'port 2222'])
      assert.match(text, new RegExp(`^${line}$`, 'm'))
  })
})
