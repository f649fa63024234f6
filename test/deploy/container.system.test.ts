import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { promisify } from 'node:util'
import { parseCommandLine } from '../../src/command-line/command-line.ts'
import { serverFlags } from '../../src/command-line/options.ts'
import { logIn } from '../support/api.ts'
import { missing } from '../support/debian.ts'
import { createClient, namesIn } from '../support/http-client.ts'
import { noNamespaces } from '../support/namespace.ts'
import { admin } from '../support/service.ts'
import { draft } from '../support/store.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { makeRoot, readLibraries, startContainer } from './bare-container.ts'
import { readContainer, readImage } from './dockerfile.ts'

const run = promisify(execFile)

/** apt needs them, so every Debian image has them. */
const LIBRARIES_OF_APT = ['libc6', 'libgcc-s1', 'libstdc++6']

describe('the container of the manual', () => {
  it('has every library that the executable needs', { skip: missing('dpkg-query') }, async () => {
    const { stdout: apt } = await run('dpkg-query', ['--status', 'apt'])
    for (const name of LIBRARIES_OF_APT)
      assert.match(apt, new RegExp(`^(Pre-)?Depends: (.*, )?${RegExp.escape(name)} `, 'm'))
    // The path of a library, with /usr or without, differs between releases.
    const patterns = (await readLibraries()).map((library) => `*${library.replace(/^\/usr/, '')}`)
    const { stdout: owners } = await run('dpkg-query', ['--search', ...patterns])
    const packages = new Set(Array.from(owners.matchAll(/^([^:, ]+)(?::\w+)?: /gm), ([, name]) => name))
    const { packages: installed } = readImage()
    assert.deepEqual([...packages].toSorted(), [...LIBRARIES_OF_APT, ...installed].toSorted())
  })

  it('uses a data folder and a password file that only its account can read', async () => {
    const { uid, gid, environment } = readImage()
    const container = readContainer()
    const { '/data': folder, '/run/secrets/password': password } = container.mounts
    assert.deepEqual(container.preparation.slice(1), [
      `sudo install -d -m 700 -o ${uid} -g ${gid} ${folder}`,
      `sudo install -m 400 -o ${uid} -g ${gid} password.txt ${password}`,
    ])
    const variables = { ...environment, ...container.environment }
    const { options } = parseCommandLine([], variables, serverFlags)
    assert.equal(options.data, '/data')
    assert.equal(variables.CONNBOOK_ADMIN_PASSWORD_FILE, '/run/secrets/password')
    assert.equal(options.port, container.port)
    assert.ok(container.isReadOnly)
    assert.ok(container.stopTimeoutSeconds > options.shutdownTimeoutSeconds)
  })

  it('runs as process 1 on a read-only root, is healthy, stops on SIGTERM, and keeps its data', {
    skip: noNamespaces,
  }, async (t) => {
    const [image, { environment }] = [readImage(), readContainer()]
    const folder = await temporaryFolder(t)
    const [data, password] = [join(folder, 'data'), join(folder, 'password')]
    await mkdir(data)
    await writeFile(password, `${admin.password}\n`, { mode: 0o400 })
    const root = await makeRoot(t, image, ['/data/', '/run/secrets/password'])
    const mounts = { '/data': data, '/run/secrets/password': password }
    const start = async () => {
      const started = await startContainer(t, root, image, { mounts, environment })
      return 'url' in started ? started : assert.fail(`exit ${started.code}: ${started.stderr}`)
    }

    const first = await start()
    const ask = createClient(first.url, await logIn(first.url, admin))
    assert.equal((await ask('POST', '/configurations/', { body: draft('kept') })).status, 200)
    assert.match(await first.execute(image.healthcheck), /\/healthz answers 200\n$/)
    assert.match(await first.execute([...image.entrypoint, 'user', 'list']), /^admin\b/)
    assert.match(await readFile(`/proc/${first.pid}/mountinfo`, 'utf8'), / \/ ro[, ]/)
    assert.equal(await readFile(`/proc/${first.pid}/task/${first.pid}/children`, 'utf8'), '')
    assert.equal(await first.terminate(), 0)

    await writeFile(join(folder, 'other'), 'another password')
    mounts['/run/secrets/password'] = join(folder, 'other')
    const second = await start()
    const list = await createClient(second.url, await logIn(second.url, admin))('GET', '/configurations/')
    assert.deepEqual(namesIn(list), ['kept'])
    assert.equal(await second.terminate(), 0)
  })

  it('does not start without its data folder', { skip: noNamespaces }, async (t) => {
    const image = readImage()
    const root = await makeRoot(t, image, [])
    const ended = await startContainer(t, root, image, { mounts: {}, environment: {} })
    assert.ok('code' in ended, 'it has started')
    assert.equal(ended.code, 1)
    assert.match(ended.stderr, /^connbook: Cannot make data folder "\/data"/)
  })
})
