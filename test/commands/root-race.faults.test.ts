import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { chmod, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, describe, it, type TestContext } from 'node:test'
import { runExecutable } from '../support/executable.ts'
import { raceWithLinks } from '../support/link-racer.ts'
import { giveToPlainAccount } from '../support/plain-account.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { copyOf, makeUsedFolder } from './kept-state.ts'
import { photograph } from './photograph.ts'

const TRIES = 100
const names = ['audit.jsonl', '.accounts-lock', '.lock']
const used = await makeUsedFolder({ after })

/** @param mode Of the folder above. */
async function setUp(t: TestContext, mode: number) {
  const folder = await copyOf(used, t)
  const outside = join(await temporaryFolder(t), 'outside')
  await mkdir(outside)
  for (const name of names) await writeFile(join(outside, `${name}.there`), '{}')
  await giveToPlainAccount(folder)
  await chmod(join(folder, '..'), mode)
  await raceWithLinks(t, folder, outside, names)
  return { folder, outside }
}

describe('root, whom the owner of the folder races with links', {
  skip: process.getuid?.() === 0 ? false : 'only root can work for another account',
}, () => {
  const commands: Record<string, (i: number) => readonly string[]> = {
    'user add': (i) => ['user', 'add', `user${i}`],
    'client add': (i) => ['client', 'add', `client${i}`],
    'keys rotate': () => ['keys', 'rotate'],
    backup: () => ['backup', '-'],
    restore: () => ['restore', used.backup],
    recover: () => ['recover', '--yes'],
  }
  for (const [what, wordsOf] of Object.entries(commands))
    for (const mode of [0o700, 0o755])
      it(`makes and changes no file elsewhere with ${what} below mode ${mode.toString(8)}`, async (t) => {
        const { folder, outside } = await setUp(t, mode)
        const before = await photograph(outside)
        let successes = 0
        for (let i = 1; i <= TRIES; i += 1) {
          const words = [...wordsOf(i), '--data', folder]
          if ((await runExecutable(words, { input: 'a long secret' })).code === 0) successes += 1
          assert.deepEqual(await photograph(outside), before, `try ${i}`)
        }
        t.diagnostic(`${successes} of ${TRIES} succeeded`)
        assert.ok(successes > 0)
      })
})
