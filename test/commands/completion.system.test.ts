import '../support/node-version.ts'
import '../support/light-argon2.ts'
import assert from 'node:assert/strict'
import { chmod, chown, mkdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { delimiter, dirname, join, resolve } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { ifPresent } from '../../src/errors.ts'
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
  ['ops@w', 'ops@web1'],
  ['at@"two x', 'at@two x:y'],
  ['e\\:', 'e:f'],
  ['"ba', 'bang!'],
  ["'it", "it's"],
  ['-- -', '-dash'],
  ['mi', 'mixed $x "y" \\ z & | > < * ? [a] {b} ! ~ #'],
  ['é', 'éa'],
]

interface Shell {
  /** Shows nothing of the user's own. */
  readonly words: readonly string[]
  /** What makes it complete. */
  readonly preparation: string
  readonly skip: string | false
}

const bash = ['bash', '--norc', '--noprofile', '-i']
const place = '~/.local/share/bash-completion/completions'
const shells: Readonly<Record<string, Shell>> = {
  bash: { words: bash, preparation: 'source <(connbook completion bash)', skip: false },
  // It loads the script from that place at the first Tab key.
  'bash with bash-completion': {
    words: bash,
    preparation: `mkdir -p ${place}; connbook completion bash > ${place}/connbook; source /usr/share/bash-completion/bash_completion; true`,
    skip: missing('dh_bash-completion'),
  },
  zsh: {
    words: ['zsh', '-f', '-i'],
    preparation: 'autoload -U compinit; compinit -u -d zcompdump; source <(connbook completion zsh)',
    skip: missing('zsh'),
  },
  fish: {
    words: ['fish', '--no-config', '-i'],
    preparation: 'connbook completion fish | source',
    skip: missing('fish'),
  },
}

async function addNames(service: TestService, all: readonly string[], labels = {}) {
  const authorization = await service.bearer()
  for (const name of all) {
    const body = JSON.stringify({ name, hostname: 'h.example', port: 22, username: 'ops', labels })
    const answer = await service.call('/configurations/', {
      method: 'POST',
      headers: { authorization },
      body,
    })
    assert.equal(answer.status, 200)
  }
}

async function openShell(t: TestContext, { words, preparation }: Shell, environment: NodeJS.ProcessEnv) {
  const folder = await temporaryFolder(t)
  await mkdir(join(folder, 'person'))
  const env = {
    PATH: [dirname(executable), process.env.PATH].join(delimiter),
    HOME: join(folder, 'person'),
    // Otherwise fish makes a folder of its own in the temporary one.
    XDG_RUNTIME_DIR: folder,
    LC_ALL: 'C.UTF-8',
    TERM: 'dumb',
    ...environment,
  }
  const session = startProgramAtTerminal(t, ['sh', '-c', 'cd "$0" && exec "$@"', folder, ...words], env)
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
  /** Types the beginning of a line with a Tab key, and throws it away. */
  const begin = async (line: string) => {
    // Ctrl-A and Ctrl-K: until the shell reads the line itself, the terminal would obey a Ctrl-U.
    session.type(`${line}\t\x01\x0b`)
    await run('true')
  }
  await run(preparation)
  return { run, begin, folder }
}

/** A program that is there to be asked: it leaves a file beside it. */
async function putProgram(path: string, mode = 0o755) {
  await mkdir(dirname(path), { recursive: true })
  await writeFile(path, `#!/bin/sh\ntouch '${path}.asked'\necho words\n`)
  await chmod(path, mode)
}

const wasAsked = async (path: string) => (await ifPresent(readFile(`${path}.asked`))) !== undefined

describe('connbook completion', () => {
  for (const [name, shell] of Object.entries(shells)) {
    const skip = !hasTerminals || shell.skip
    it(`gives ${name} exactly the name that was begun, and runs nothing of it`, { skip }, async (t) => {
      const service = await start(t)
      await addNames(
        service,
        names.map(([, name]) => name),
      )
      await addNames(service, ['labelled'], { tier: 'prod x' })
      const token = (await service.bearer()).replace('Bearer ', '')
      // On a busy machine the usual limit would leave names out.
      const environment = {
        CONNBOOK_SERVER: service.url,
        CONNBOOK_TOKEN: token,
        CONNBOOK_COMPLETION_MS: '20000',
      }
      const { run, folder } = await openShell(t, shell, environment)
      for (const [typed, name] of names) {
        assert.equal(await run(`connbook get --field name ${typed}\t`), `${name}\n`)
      }
      for (const [typed, name] of [
        ['tier=', 'labelled'],
        ['ti\tpr', 'labelled'],
      ]) {
        assert.equal(await run(`connbook ls --names --label ${typed}\t`), `${name}\n`)
      }
      assert.equal(await ifPresent(readFile(join(folder, 'pwned'))), undefined)
    })

    it(`lets ${name} ask no program that somebody else could have put there`, { skip }, async (t) => {
      const { begin, folder } = await openShell(t, shell, { CONNBOOK_SERVER: 'http://127.0.0.1:1' })
      const at = (path: string) => join(folder, path, 'connbook')
      await putProgram(at('person/own'))
      // bash-completion loads the script for the plain name.
      await begin('connbook hea')
      await begin('~/own/connbook hea')
      assert.equal(await wasAsked(at('person/own')), true)
      await putProgram(at('own'))
      await begin(`${at('own')} hea`)
      assert.equal(await wasAsked(at('own')), true)

      await putProgram(at('shared/inner'))
      await chmod(join(folder, 'shared'), 0o777)
      await putProgram(at('group'))
      await chmod(join(folder, 'group'), 0o770)
      await putProgram(at('open'), 0o777)
      await putProgram(at('relative'))
      await symlink(join(folder, 'relative'), join(folder, 'link'))
      await putProgram(at('.'))
      const refused = [
        './connbook',
        'relative/connbook',
        ...['shared/inner', 'group', 'open', 'link'].map(at),
      ]
      if (process.getuid?.() === 0) {
        for (const path of ['foreign', 'foreigner']) await putProgram(at(path))
        await chown(join(folder, 'foreign'), 65_534, 65_534)
        await chown(at('foreigner'), 65_534, 65_534)
        refused.push(at('foreign'), at('foreigner'))
      }
      for (const path of refused) {
        await begin(`${path} hea`)
        assert.equal(await wasAsked(resolve(folder, path)), false, path)
      }
    })

    it(`gives ${name} commands, flags, values and files`, { skip }, async (t) => {
      const { run, folder } = await openShell(t, shell, { CONNBOOK_SERVER: 'http://127.0.0.1:1' })
      await writeFile(join(folder, 'hosts.csv'), 'name,hostname,port,username\na,b,1,c\n')
      assert.match(await run('connbook hea\t --he\t'), /^connbook healthcheck /)
      assert.match(await run('connbook imp\tho\t --dat\tnew'), /1 added/)
      assert.match(await run('connbook export --data new --form\tjsonl'), /"name":"a"/)
      assert.match(await run('connbook export --data=ne\t --format jsonl'), /"name":"a"/)
      assert.match(
        await run('connbook export --data new --format jsonl > hos\t; cat hosts.csv'),
        /"name":"a"/,
      )
      await mkdir(join(folder, 'person', 'bin'))
      await symlink(executable, join(folder, 'person', 'bin', 'connbook'))
      assert.match(await run('~/bin/connbook healthc\t --he\t'), /^connbook healthcheck /)
      assert.match(await run('connbook user li\t --data new'), /^$/)
      // Without a server there are no names, and nothing is asked or shown.
      assert.match(await run('connbook get --field name x\t'), /Cannot connect/)
    })
  }
})
