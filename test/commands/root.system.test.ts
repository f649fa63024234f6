import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'
import {
  chmod,
  cp,
  mkdir,
  open,
  readdir,
  readFile,
  realpath,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises'
import { join } from 'node:path'
import { after, describe, it, type TestContext } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { writeToStream } from '../../src/commands/written-file.ts'
import { realFileSystem } from '../../src/files/file-system.ts'
import { filesOf } from '../../src/files/owners-files.ts'
import { inTurn } from '../../src/system-account.ts'
import { runExecutable, startExecutable } from '../support/executable.ts'
import { raceWithLinks } from '../support/link-racer.ts'
import { giveToPlainAccount, plainAccount } from '../support/plain-account.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { makeUsedFolder } from './kept-state.ts'
import { photograph } from './photograph.ts'

const used = await makeUsedFolder({ after })
const secret = 'a long enough secret'
/** Threads that make the calls of the file system. */
const THREADS = Number(process.env.UV_THREADPOOL_SIZE ?? 4)

/** The folder of another account, as systemd makes one for `DynamicUser=`: below a folder that only root can enter. */
async function setUp(t: TestContext) {
  const root = await temporaryFolder(t)
  const [outside, hosts] = [join(root, 'outside'), join(root, 'hosts.csv')]
  await mkdir(join(root, 'private'))
  await mkdir(outside)
  await cp(used.folder, join(root, 'private/connbook'), { recursive: true })
  await giveToPlainAccount(join(root, 'private/connbook'))
  await symlink('private/connbook', join(root, 'connbook'))
  await writeFile(hosts, 'name,hostname,port,username\nweb1,web1.example.net,22,deploy\n')
  return { root, outside, hosts, folder: join(root, 'connbook') }
}

async function run(folder: string, words: readonly string[], input = secret) {
  const { code, stdout, stderr } = await runExecutable([...words, '--data', folder], { input })
  assert.equal(code, 0, `${words.join(' ')}: ${stderr}`)
  return stdout
}

async function assertOwned(folder: string) {
  for (const [path, { owner }] of Object.entries(await photograph(await realpath(folder))))
    assert.equal(owner, plainAccount, path)
}

describe('root, in the folder of another account', {
  skip: process.getuid?.() === 0 ? false : 'only root can work for another account',
}, () => {
  it('runs every command below a folder that the account cannot enter, and leaves it what is new', async (t) => {
    const { root, hosts, folder } = await setUp(t)
    const [backup, exported] = [join(root, 'backup.json'), join(root, 'export.json')]
    // Only root can read it.
    const password = join(root, 'password')
    await writeFile(password, secret)
    await run(folder, ['check'])
    await run(folder, ['user', 'add', 'eve'])
    await run(folder, ['user', 'passwd', 'eve'])
    await run(folder, ['client', 'add', 'ci'])
    await run(folder, ['client', 'list'])
    await run(folder, ['keys', 'rotate'])
    await run(folder, ['import', hosts])
    await run(folder, ['export', '--format', 'json', '--output', exported])
    await run(folder, ['backup', backup])
    await run(folder, ['restore', backup])
    await run(folder, ['restore', '-'], execFileSync('cat', [backup], { encoding: 'utf8' }))
    await rm(join(folder, 'accounts.json'))
    const recovered = await runExecutable(['recover', '--yes', '--data', folder], {
      environment: { CONNBOOK_ADMIN_USERNAME: 'ann', CONNBOOK_ADMIN_PASSWORD_FILE: password },
    })
    assert.equal(recovered.code, 0, recovered.stderr)
    assert.match(await run(folder, ['user', 'list']), /^ann\tadmin$/m)
    await assertOwned(folder)
    const trail = execFileSync('cat', [join(folder, 'audit.jsonl')], { encoding: 'utf8' })
    assert.match(trail, /"by":"root"/)
    assert.deepEqual([(await stat(backup)).uid, (await stat(exported)).uid], [0, 0])
  })

  it('starts a server whose files and socket are those of the account, and calls it', async (t) => {
    const { root, folder, hosts } = await setUp(t)
    const server = await startExecutable(t, ['--data', folder])
    const { uid } = await stat(join(folder, '.control'))
    assert.equal(uid, plainAccount)
    await run(folder, ['import', hosts])
    assert.match(await run(folder, ['get', 'web1']), /web1\.example\.net/)
    assert.match(await run(folder, ['history', 'web1']), /root/)
    const words = ['set', 'web1', '--port', '2222', '--reason', 'ticket 4711', '--data', folder]
    const changed = await runExecutable(words, { environment: { SUDO_USER: 'alice' } })
    assert.equal(changed.code, 0, changed.stderr)
    const told = await run(folder, ['history', '--limit', '1'])
    assert.match(told, /\tmodified\tweb1\troot \(claims: alice\) \(set\)\t\{.*\}\tticket 4711\n$/)
    await run(folder, ['user', 'add', 'eve'])
    await run(folder, ['backup', join(root, 'backup.json')])
    const second = await runExecutable(['--port', '0', '--data', folder])
    assert.equal(second.code, 75, second.stderr)
    assert.match(second.stderr, /another process has it \(pid \d+/)
    await assertOwned(folder)
    assert.equal(await server.stop(), 0)
    assert.ok(!(await readdir(folder)).includes('.control'))
    await assertOwned(folder)
  })

  it('follows no link that lies in the folder', async (t) => {
    const { outside, folder } = await setUp(t)
    for (const name of ['audit.jsonl', '.accounts-lock', '.lock', 'accounts.json']) {
      await rm(join(folder, name), { force: true })
      await symlink(join(outside, name), join(folder, name))
      for (const words of [
        ['user', 'add', 'eve'],
        ['client', 'add', 'ci'],
        ['restore', used.backup],
        ['recover', '--yes'],
      ]) {
        const { code, stderr } = await runExecutable([...words, '--data', folder], { input: secret })
        assert.equal(code, 1, stderr)
        assert.match(stderr, new RegExp(`^connbook: Cannot [^\\n]+/connbook/${name}"[^\\n]*\\n$`))
        assert.deepEqual(await readdir(outside), [])
      }
      await rm(join(folder, name))
      await cp(join(used.folder, name), join(folder, name)).catch(() => {})
      await giveToPlainAccount(folder)
    }
  })

  it('makes nothing elsewhere while the account puts links in the place of its files', async (t) => {
    const { root, outside, folder } = await setUp(t)
    for (const path of [root, join(root, 'private'), outside]) await chmod(path, 0o755)
    await raceWithLinks(t, folder, outside, ['audit.jsonl', '.accounts-lock', '.lock'])
    for (let i = 0; i < 5; i += 1)
      for (const words of [
        ['user', 'add', `eve${i}`],
        ['restore', used.backup],
        ['recover', '--yes'],
      ]) {
        await runExecutable([...words, '--data', folder], { input: secret })
        assert.deepEqual(await readdir(outside), [], words.join(' '))
      }
  })

  it('says how to give the account what root has left there', async (t) => {
    const { folder } = await setUp(t)
    await rm(join(folder, 'keys.json'))
    await cp(join(used.folder, 'keys.json'), join(folder, 'keys.json'))
    const { code, stderr } = await runExecutable(['keys', 'list', '--data', folder])
    assert.equal(code, 1)
    const path = join(folder, 'keys.json')
    assert.equal(
      stderr,
      `connbook: Cannot use "${path}": this account has no permission (EACCES) (owner 0, mode 0600); run: chown --reference='${folder}' '${path}'\n`,
    )
    execFileSync('chown', [`--reference=${folder}`, path])
    await run(folder, ['keys', 'list'])
  })

  it('uses its files with the rights of the account alone, also if root has to read another meanwhile', async (t) => {
    const { root, outside, folder } = await setUp(t)
    const [secret, pipe] = [join(outside, 'secret'), join(root, 'pipe')]
    await writeFile(secret, 'secret')
    await symlink(secret, join(folder, 'link'))
    // A thread that waits for the other end of a pipe follows its path again when the rights change.
    await chmod(root, 0o755)
    execFileSync('mkfifo', ['--mode=666', pipe])
    const busy = Array.from({ length: THREADS }, () => open(pipe, 'r'))
    t.after(async () => {
      for (const each of await Promise.all(busy)) await each.close()
    })
    const link = assert.rejects(filesOf(folder).readFile(join(folder, 'link')), { code: 'EACCES' })
    const named = realFileSystem.readFile(secret)
    const rights = inTurn(() => [process.geteuid?.(), process.getegid?.()])
    await setImmediate()
    assert.equal(process.geteuid?.(), plainAccount)
    const writer = openSync(pipe, 'w')
    t.after(() => closeSync(writer))
    await link
    assert.equal(String(await named), 'secret')
    assert.deepEqual(await rights, [0, 0])
  })

  it('uses none of its files while root opens a pipe that only root can get to', async (t) => {
    const { root, folder } = await setUp(t)
    const pipe = join(root, 'pipe')
    execFileSync('mkfifo', [pipe])
    const files = filesOf(folder)
    const writing = writeToStream((print) => print('text'), 'a text', pipe)
    const listing = files.readdir(folder)
    await setImmediate()
    assert.equal(process.geteuid?.(), 0)
    assert.equal(await readFile(pipe, 'utf8'), 'text')
    await writing
    assert.deepEqual(await listing, await readdir(folder))
  })

  it('is told to run as the account where it may not become it', async (t) => {
    const { folder } = await setUp(t)
    const through = ['setpriv', '--bounding-set=-setuid', '--inh-caps=-setuid']
    const { code, stderr } = await runExecutable(['user', 'list', '--data', folder], { through })
    assert.equal(code, 1)
    assert.match(
      stderr,
      /^connbook: Cannot use ".+" as its owner \(uid \d+\): .+ \(EPERM\); run as that account\n$/,
    )
  })
})
