import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { chown, readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { gzipSync } from 'node:zlib'
import { runCommand } from '../support/command.ts'
import { runExecutable } from '../support/executable.ts'
import { asPlainAccount, giveToPlainAccount, plainAccount } from '../support/plain-account.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { copyOf, makeUsedFolder } from './kept-state.ts'
import { photograph } from './photograph.ts'

const used = await makeUsedFolder({ after })

describe('connbook restore', () => {
  it('reads standard input, a process substitution, and a descriptor under a variable of Node', async (t) => {
    const cwd = await temporaryFolder(t)
    const input = gzipSync(await readFile(used.backup))
    const bash = (line: string) => ['/bin/bash', '--norc', '-c', line, used.backup]
    const rows: [args: string[], through: string[]][] = [
      [['restore', '-', '--data', 'a'], []],
      [['restore', '/dev/stdin', '--data', 'b'], []],
      [['restore', '--data', 'c'], bash('"$@" <(cat "$0")')],
      [['restore', '--data', 'd'], bash('"$@" /dev/fd/9 9< <(gzip < "$0")')],
    ]
    for (const [args, through] of rows) {
      const environment = { NODE_DEBUG: 'net' }
      const { code, stderr } = await runExecutable(args, { cwd, input, through, environment })
      assert.deepEqual([code, stderr], [0, ''], args.join(' '))
    }
    assert.deepEqual(await readdir(cwd), ['a', 'b', 'c', 'd'])
  })

  it('reads a named pipe', async (t) => {
    const root = await temporaryFolder(t)
    const pipe = join(root, 'pipe')
    execFileSync('mkfifo', [pipe])
    const [{ code, stdout, stderr }] = await Promise.all([
      runCommand(['restore', pipe, '--data', join(root, 'data')]),
      writeFile(pipe, gzipSync(await readFile(used.backup))),
    ])
    assert.deepEqual([code, stderr], [0, ''])
    assert.match(stdout, /^Restored /)
  })

  it('gives files written by root to the owner of the folder', {
    skip: process.getuid?.() !== 0,
  }, async (t) => {
    const folder = await copyOf(used, t)
    await giveToPlainAccount(folder)
    await chown(join(folder, '..'), plainAccount ?? 0, plainAccount ?? 0)
    assert.equal((await runCommand(['restore', used.backup, '--data', folder])).code, 0)
    for (const [path, { owner }] of Object.entries(await photograph(folder)))
      assert.equal(owner, plainAccount, path)
    const checked = await runExecutable(['check', '--data', folder], { through: asPlainAccount })
    assert.equal(checked.code, 0, checked.stderr)
  })

  it('by root, like user add and import, gives a folder that it makes to the owner of the folder above', {
    skip: process.getuid?.() === 0 ? false : 'only root can give a folder away',
  }, async (t) => {
    const parent = await temporaryFolder(t)
    const hosts = join(await temporaryFolder(t), 'hosts.csv')
    await writeFile(hosts, 'name,hostname,port,username\nweb1,web1.example.net,22,deploy\n')
    await giveToPlainAccount(parent)
    for (const words of [
      ['restore', used.backup],
      ['user', 'add', 'eve'],
      ['import', hosts],
    ]) {
      const folder = join(parent, words[0] ?? '')
      const { code, stderr } = await runCommand([...words, '--data', folder], { input: 'a secret' })
      assert.equal(code, 0, stderr)
      for (const [path, { owner }] of Object.entries(await photograph(folder)))
        assert.equal(owner, plainAccount, path)
      assert.equal((await stat(folder)).uid, plainAccount)
    }
  })
})
