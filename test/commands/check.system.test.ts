import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { dataFiles } from '../../src/files/data-folder.ts'
import { trailIn } from '../audit/trail.ts'
import { logIn } from '../support/api.ts'
import { runCommand } from '../support/command.ts'
import { missing } from '../support/debian.ts'
import { eventually } from '../support/eventually.ts'
import { runExecutable, startExecutable } from '../support/executable.ts'
import { createClient } from '../support/http-client.ts'
import { admin, usedFolder } from '../support/service.ts'
import { draft } from '../support/store.ts'
import { check, said } from './checked-folder.ts'
import { copyOf, makeUsedFolder } from './kept-state.ts'

const used = await makeUsedFolder({ after })

describe('connbook check', () => {
  it('finds a folder sound while a server writes to it', async (t) => {
    const folder = await usedFolder(t)
    const server = await startExecutable(t, ['--data', folder])
    const ask = createClient(server.url, await logIn(server.url, admin))
    let isOver = false
    let added = 0
    const write = async () => {
      for (; !isOver; added += 1) await ask('POST', '/configurations/', { body: draft(`record ${added}`) })
    }
    const writing = write()
    for (let times = 0; times < 5; times += 1) {
      const { code, stdout, stderr } = await runCommand(['check', '--data', folder])
      assert.equal(code, 0, stderr)
      assert.match(stdout, /The folder is sound\n$/)
    }
    isOver = true
    await writing
    await eventually('every line is in the audit trail', async () => {
      return (await trailIn(folder)).filter(({ event }) => event === 'configuration_added').length === added
    })
    const { code } = await check(folder)
    assert.equal(code, 0)
  })

  it('names a file that the disk cannot read, and checks the others', {
    skip: missing('strace'),
  }, async (t) => {
    const folder = await copyOf(used, t)
    const path = join(folder, dataFiles.journal)
    const strace = ['strace', '-D', '-f', '-qq', '-o', '/dev/null', '-P', path, '-e', 'trace=pread64']
    const through = [...strace, '-e', 'inject=pread64:error=EIO']
    const { code, stdout } = await runExecutable(['check', '--data', folder], { through })
    assert.equal(code, 65)
    assert.match(said(stdout)['journal.jsonl'] ?? '', /^DAMAGED: EIO.*journal\.jsonl" at byte 0; restore/)
    assert.match(said(stdout)['accounts.json'] ?? '', /1 user/)
  })

  it('refuses a pipe in the place of a file, with an explanation', async (t) => {
    const folder = await copyOf(used, t)
    await rm(join(folder, dataFiles.journal))
    execFileSync('mkfifo', [join(folder, dataFiles.journal)])
    const { code, stdout, stderr } = await check(folder)
    assert.deepEqual([code, stdout], [1, ''])
    assert.match(stderr, /journal\.jsonl": it is not a plain file.+move it away/)
  })
})
