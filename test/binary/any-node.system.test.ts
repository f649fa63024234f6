import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readFile, stat, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { promisify } from 'node:util'
import { transform } from 'esbuild'
import { runExecutable, startExecutable } from '../support/executable.ts'
import { createClient } from '../support/http-client.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const root = join(import.meta.dirname, '../..')
const file = join(root, 'dist/connbook.cjs')
const node = process.execPath
const program = [node, file] as const

/** Runs the file to its end; `first` stands before it, in place of Node. */
async function run(
  words: readonly string[],
  { first = [node], environment = {} }: { first?: readonly string[]; environment?: NodeJS.ProcessEnv } = {},
) {
  const [command = '', ...rest] = [...first, file, ...words]
  const env = { PATH: process.env.PATH, ...environment }
  return promisify(execFile)(command, rest, { env }).catch(
    ({ code, stdout, stderr }: { code: number; stdout: string; stderr: string }) => ({
      code,
      stdout,
      stderr,
    }),
  )
}

describe('connbook.cjs', { skip: process.platform === 'win32' && 'a shell starts it' }, () => {
  it('keeps what it acknowledged, and serves the console', async (t) => {
    const folder = join(await temporaryFolder(t), 'data')
    const first = await startExecutable(t, ['--data', folder], { program })
    const credentials: unknown = JSON.parse(await readFile(join(folder, 'initial-credentials.json'), 'utf8'))
    const login = async (url: string) => {
      const answer = await createClient(url)('POST', '/login', { body: credentials })
      assert.deepEqual([answer.status, answer.text], [200, 'Authorized'])
      return createClient(url, { Cookie: String(answer.headers['set-cookie']).split(';')[0] ?? '' })
    }
    const record = { name: 'a', hostname: 'a.example', port: 22, username: 'u' }
    const added = await (await login(first.url))('POST', '/configurations/', { body: record })
    assert.equal(added.status, 200, added.text)
    assert.equal(await first.stop('SIGKILL'), 'SIGKILL')
    const second = await startExecutable(t, ['--data', folder], { program })
    const call = await login(second.url)
    assert.match((await call('GET', '/configurations/a')).text, /"hostname":"a\.example"/)
    assert.equal((await call('GET', '/console/')).status, 200)
    // Node has a debugger open on this signal, unless the program hears it.
    second.process.kill('SIGUSR1')
    assert.equal((await call('GET', '/configurations/a')).status, 200)
    assert.equal(await second.stop(), 0)
    for (const line of [first, second].flatMap(({ stderr }) => stderr().trimEnd().split('\n')))
      assert.match(line, /^\{"time":/)
  })

  it('has the manual, the commit and a bill of materials without a Node', async () => {
    const chapter = await runExecutable(['help', 'conditions'])
    const shown = (await run(['help', 'conditions'])).stdout.replaceAll(program.join(' '), 'connbook')
    assert.equal(shown, chapter.stdout)
    for (const words of [['--version'], ['version', '--json']])
      assert.equal((await run(words)).stdout, (await runExecutable(words)).stdout)
    const sbom = JSON.parse((await run(['version', '--sbom'])).stdout)
    assert.deepEqual([sbom.metadata.component.name, sbom.components], ['connbook', []])
  })

  it('names the commands that work, in help and in errors', async () => {
    const typed = `${node} ${file}`
    assert.ok((await run(['help', 'ls'])).stdout.startsWith(`${typed} ls [TEXT…] [FLAGS]\n`))
    assert.match((await run(['help'])).stdout, new RegExp(`^ {2}${typed} user add eve {2}`, 'm'))
    const wrong = await run(['--no-such-flag'])
    assert.equal(wrong.stderr, `connbook: Unknown flag "--no-such-flag"; see ${typed} help\n`)
  })

  it('is started by its first line, and then names only itself', async (t) => {
    assert.equal((await stat(file)).mode & 0o777, 0o755)
    const folder = await temporaryFolder(t)
    await symlink(node, join(folder, 'node'))
    const environment = { PATH: `${folder}:${process.env.PATH}` }
    // bash tells what it starts; execve alone does not.
    const first = ['/bin/bash', '-c', '"$0" "$@"; exit']
    assert.ok((await run(['help', 'ls'], { first, environment })).stdout.startsWith(`${file} ls `))
  })

  it('names Node, its options and itself in a unit', async () => {
    const { stdout } = await run(['systemd', '--port', '8081'])
    const [, start = ''] = /^ExecStart=(.*)$/m.exec(stdout) ?? []
    assert.match(start, /--max-old-space-size-percentage=50 .*--openssl-config=\/dev\/null /)
    const [command = '', ...words] = start.split(' ')
    assert.equal(command, node)
    assert.deepEqual(words.slice(-3), [file, '--data=/var/lib/connbook', '--port=8081'])
    const version = await promisify(execFile)(command, [...words.slice(0, -2), '--version'])
    assert.match(version.stdout, /^connbook \d/)
  })

  for (const shell of ['bash', 'zsh', 'fish'] as const) {
    it(`is asked itself by the completion of ${shell}`, async () => {
      const { stdout } = await run(['completion', shell])
      const lines = stdout.split('\n')
      assert.equal(lines.filter((line) => line.includes(`(${node} ${file} complete ${shell} `)).length, 1)
      assert.ok(!/program"? complete/.test(stdout))
      assert.ok(lines.some((line) => /(complete|compdef).* connbook\.cjs\b/.test(line)))
    })
  }

  it('drops the variables of Node and OpenSSL, under its first pid', async (t) => {
    const folder = await temporaryFolder(t)
    const environment = {
      NODE_DEBUG: 'http,net',
      NODE_ENV: 'production',
      OPENSSL_CONF: join(folder, 'openssl.cnf'),
      NODE_OPTIONS: '--trace-warnings',
    }
    const shown = await run(['--version'])
    assert.deepEqual(await run(['--version'], { environment }), shown)
    const server = await startExecutable(t, ['--data', join(folder, 'data')], { program, environment })
    assert.match(server.stderr(), new RegExp(`"pid":${server.process.pid}\\b`))
    const kept = (await readFile(`/proc/${server.process.pid}/environ`, 'latin1')).split('\0')
    assert.deepEqual(
      kept.filter((entry) => /^(NODE_|OPENSSL_)/.test(entry)),
      ['NODE_ENV=production'],
    )
    assert.equal(await server.stop(), 0)
  })

  it('says on an older Node which one it found and which one it needs', async (t) => {
    const script = join(await temporaryFolder(t), 'older.cjs')
    for (const version of ['12.22.12', '22.23.5', '24.7.0']) {
      await writeFile(script, `Object.defineProperty(process.versions, 'node', { value: '${version}' })`)
      assert.deepEqual(await run(['--version'], { first: [node, '--require', script] }), {
        code: 1,
        stdout: '',
        stderr: `connbook: Cannot run on Node ${version}: it needs Node 24.8 or later\n`,
      })
    }
    for (const version of ['24.8.0', '24.10.0', '25.0.0', '100.1.0']) {
      await writeFile(script, `Object.defineProperty(process.versions, 'node', { value: '${version}' })`)
      assert.match((await run(['--version'], { first: [node, '--require', script] })).stdout, /^connbook /)
    }
  })

  it('begins with nothing that Node 12 cannot read', async () => {
    const code = await readFile(join(root, '.build/any-node.cjs'), 'utf8')
    const [now, then] = await Promise.all(
      ['esnext', 'node12'].map((target) => transform(code, { target, minifyWhitespace: true })),
    )
    assert.equal(now?.code, then?.code)
    const inside = await readFile(file, 'utf8')
    assert.ok(inside.startsWith(code.slice(0, code.lastIndexOf('start('))))
  })
})
