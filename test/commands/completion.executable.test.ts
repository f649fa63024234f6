import '../support/node-version.ts'
import '../support/light-argon2.ts'
import assert from 'node:assert/strict'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { delimiter, dirname, join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { shells } from '../../src/command-line/completion.ts'
import { ifPresent } from '../../src/errors.ts'
import { runCommand } from '../support/command.ts'
import { missing } from '../support/debian.ts'
import { eventually } from '../support/eventually.ts'
import { executable } from '../support/executable.ts'
import { hasTerminals, startProgramAtTerminal } from '../support/pseudo-terminal.ts'
import { start, type TestService } from '../support/service.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

/** What is typed before the Tab key, and the name that the shell must then have. */
const names: readonly (readonly [typed: string, name: string])[] = [
  ['pl', 'plain-1.example'],
  ['wi', 'with space'],
  ['c:ol', 'c:olon:x'],
  ['k=', 'k=v'],
  ['"quo', 'quote"d'],
  ["'dol", 'dollar$(touch pwned)`touch pwned`;touch pwned'],
  ['mi', 'mixed $x "y" \\ z & | > < * ? [a] {b} ! ~ #'],
  ['é', 'éa'],
]

/** Commands that make a shell complete, and show nothing of the user's own. */
const shellWords = {
  bash: ['bash', '--norc', '--noprofile', '-i'],
  zsh: ['zsh', '-f', '-i'],
  fish: ['fish', '--no-config', '-i'],
}
const preparations = {
  bash: 'source <(connbook completion bash)',
  zsh: 'autoload -U compinit; compinit -u -d zcompdump; source <(connbook completion zsh)',
  fish: 'connbook completion fish | source',
}

async function addNames(service: TestService, all: readonly string[]) {
  const authorization = await service.bearer()
  for (const name of all) {
    const body = JSON.stringify({ name, hostname: 'h.example', port: 22, username: 'ops' })
    const answer = await service.call('/configurations/', {
      method: 'POST',
      headers: { authorization },
      body,
    })
    assert.equal(answer.status, 200)
  }
}

async function openShell(t: TestContext, shell: (typeof shells)[number], environment: NodeJS.ProcessEnv) {
  const folder = await temporaryFolder(t)
  await mkdir(join(folder, 'person'))
  const env = {
    PATH: [dirname(executable), process.env.PATH].join(delimiter),
    HOME: join(folder, 'person'),
    LC_ALL: 'C.UTF-8',
    TERM: 'dumb',
    ...environment,
  }
  const session = startProgramAtTerminal(
    t,
    ['sh', '-c', 'cd "$0" && exec "$@"', folder, ...shellWords[shell]],
    env,
  )
  let runs = 0
  /** Types a line, where \t asks for a completion, and waits until its output is in a file. */
  const run = async (line: string): Promise<string> => {
    runs += 1
    const [out, end] = [join(folder, `out${runs}`), join(folder, `end${runs}`)]
    session.type(`${line} > ${out} 2>&1; touch ${end}\r`)
    const ended = async () => (await ifPresent(readFile(end))) !== undefined
    await eventually(`the end of ${line}`, ended).catch(() => assert.fail(`${line}\n${session.screen()}`))
    return readFile(out, 'utf8')
  }
  await run(preparations[shell])
  return { run, folder }
}

describe('connbook completion', { timeout: 120_000 }, () => {
  for (const shell of shells) {
    const skip = !hasTerminals || (shell !== 'bash' && missing(shell))
    it(`gives ${shell} exactly the name that was begun, and runs nothing of it`, { skip }, async (t) => {
      const service = await start(t)
      await addNames(
        service,
        names.map(([, name]) => name),
      )
      const token = (await service.bearer()).replace('Bearer ', '')
      const environment = { CONNBOOK_SERVER: service.url, CONNBOOK_TOKEN: token }
      const { run, folder } = await openShell(t, shell, environment)
      for (const [typed, name] of names) {
        // In fish a quote that the user has opened stays open.
        const begun = shell === 'fish' ? typed.replace(/^['"]/, '') : typed
        assert.equal(await run(`connbook get --field name ${begun}\t`), `${name}\n`)
      }
      assert.equal(await ifPresent(readFile(join(folder, 'pwned'))), undefined)
    })

    it(`gives ${shell} commands, flags, values and files`, { skip }, async (t) => {
      const { run, folder } = await openShell(t, shell, { CONNBOOK_SERVER: 'http://127.0.0.1:1' })
      await writeFile(join(folder, 'hosts.csv'), 'name,hostname,port,username\na,b,1,c\n')
      assert.match(await run('connbook hea\t --he\t'), /^connbook healthcheck /)
      assert.match(await run('connbook imp\tho\t --dat\tnew'), /1 added/)
      assert.match(await run('connbook export --data new --form\tjsonl'), /"name":"a"/)
      assert.match(await run('connbook user li\t --data new'), /^$/)
      // Without a server there are no names, and nothing is asked or shown.
      assert.match(await run('connbook get --field name x\t'), /Cannot connect/)
    })
  }

  it('gives words for every place of a line, and nothing where it cannot tell', async () => {
    const complete = async (...words: string[]) => {
      const { code, stdout, stderr } = await runCommand(['complete', 'zsh', '--', ...words])
      assert.deepEqual([code, stderr], [0, ''])
      return stdout.trimEnd().split('\n')
    }
    assert.deepEqual(await complete('l'), ['words', 'ls', 'login', 'logout'])
    assert.deepEqual(await complete('user', ''), ['words', 'add', 'passwd', 'set', 'remove', 'list'])
    assert.deepEqual(await complete('ls', '--sort', 'p'), ['words', 'port'])
    assert.deepEqual(await complete('ls', '--sort=-p'), ['words', '--sort=-port'])
    assert.deepEqual(await complete('completion', ''), ['words', 'bash', 'zsh', 'fish'])
    assert.deepEqual(await complete('help', 'sec'), ['words', 'security'])
    assert.deepEqual(await complete('import', ''), ['files'])
    assert.deepEqual(await complete('ls', '--ca', ''), ['files'])
    assert.deepEqual(await complete('ssh', 'web1', '-'), ['files'])
    assert.deepEqual(await complete('nothing', ''), ['words'])
    assert.deepEqual(await complete('ls', '--limit', ''), ['words'])
    assert.deepEqual(await complete('ls', '--no-retry', '--no'), ['words'])
  })
})
