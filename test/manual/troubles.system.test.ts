import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { copyFile, link, mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { describe, it } from 'node:test'
import { promisify } from 'node:util'
import { missing } from '../support/debian.ts'
import { executable } from '../support/executable.ts'
import { createClient } from '../support/http-client.ts'
import { noNamespaces } from '../support/namespace.ts'
import { start } from '../support/service.ts'
import { draft } from '../support/store.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { openReaderShell } from './host.ts'
import { blocksOf, readBlock, readChapterNamed } from './published.ts'
import { assertShown } from './steps.ts'

const run = promisify(execFile)
const CHAPTER = 'troubles'

const untilReady = 'until curl -sf -o ready.json localhost:8080/readyz; do sleep 0.1; done'
const started = `connbook 2> connbook.log & ${untilReady}`
const stopped = `${started}\nkill $!; wait $!`

/** What brings about each message, by its heading, and the exit code that connbook then has. */
const causes: Record<string, { readonly command: string; readonly code: number }> = {
  'The port is taken': { command: `${started}\nconnbook --data other`, code: 1 },
  'The data folder is in use': { command: `${started}\nconnbook --port 0`, code: 75 },
  'The folder above it is missing': { command: 'connbook --data disk/data', code: 1 },
  'The data folder is open to others': { command: `${stopped}\nchmod 755 data\nconnbook`, code: 1 },
  'The data folder is damaged': {
    command: `${stopped}\nsed -i s/admin/admon/ data/accounts.json\nconnbook`,
    code: 65,
  },
  'It was written by a newer connbook': {
    command: `${stopped}\nsed -i 's/"version": [0-9]*/"version": 9/' data/accounts.json\nconnbook`,
    code: 65,
  },
  // The two bytes name the processor.
  'Exec format error': {
    command: `cp "$(command -v connbook)" connbook
printf '\\064\\022' | dd of=connbook bs=1 seek=18 conv=notrunc status=none
bash -c ./connbook`,
    code: 126,
  },
}

const LIBRARY_MISSING = 'A library is missing'

describe('the chapter on troubles', () => {
  for (const [heading, { command, code }] of Object.entries(causes)) {
    it(`shows what is printed when: ${heading}`, { skip: missing('curl') }, async (t) => {
      const shell = await openReaderShell(t)
      const printed = await shell.run(shell.moved(command))
      const port = /localhost:(\d+)/.exec(shell.moved('localhost:8080'))?.[1] ?? ''
      const output = [readBlock(CHAPTER, 'text', heading).trim().replace('port 8080', `port ${port}`)]
      assertShown({ command, output }, printed)
      assert.equal(printed.code, code, printed.text)
    })
  }

  it(`shows what is printed when: ${LIBRARY_MISSING}`, { skip: noNamespaces }, async (t) => {
    const root = await temporaryFolder(t)
    const { stdout } = await run('ldd', [executable])
    for (const library of new Set(stdout.match(/\/\S+/g))) {
      if (library.includes('libatomic')) continue
      await mkdir(join(root, dirname(library)), { recursive: true })
      await copyFile(library, join(root, library))
    }
    await link(executable, join(root, 'connbook')).catch(() => copyFile(executable, join(root, 'connbook')))
    const starting = run('unshare', ['--user', '--map-root-user', 'chroot', root, '/connbook', '--version'])
    const { stderr, code } = await starting.then(
      () => assert.fail('it started'),
      (error: { stderr: string; code: number }) => error,
    )
    const output = [readBlock(CHAPTER, 'text', LIBRARY_MISSING).trim()]
    assertShown({ command: 'connbook', output }, { text: stderr.trim(), code })
  })

  it('has no other message', () => {
    const headings = blocksOf(readChapterNamed(CHAPTER)).filter(({ language }) => language === 'text')
    assert.deepEqual(
      headings.map(({ heading }) => heading).toSorted(),
      [...Object.keys(causes), LIBRARY_MISSING].toSorted(),
    )
  })

  it('shows how Ansible deletes a record', { skip: missing('ansible-playbook') }, async (t) => {
    const service = await start(t)
    const token = (await service.bearer()).slice('Bearer '.length)
    const ask = createClient(service.url, { Authorization: `Bearer ${token}` })
    await ask('POST', '/configurations/', { body: draft('db/main') })
    const folder = await temporaryFolder(t)
    const playbook = join(folder, 'delete.yml')
    await writeFile(playbook, readBlock(CHAPTER, 'yaml', 'A delete is answered 209'))
    // Ansible wants UTF-8, and takes the home from the list of accounts.
    const env = {
      PATH: process.env.PATH,
      LC_ALL: 'C.UTF-8',
      HOME: folder,
      ANSIBLE_LOCAL_TEMP: folder,
      ANSIBLE_REMOTE_TMP: folder,
      ANSIBLE_LOCALHOST_WARNING: 'false',
    }
    const variables = JSON.stringify({ connbook: service.url, token })
    await run('ansible-playbook', ['-i', 'localhost,', '-c', 'local', '-e', variables, playbook], { env })
    assert.equal((await ask('GET', '/configurations/db%2Fmain')).status, 404)
  })
})
