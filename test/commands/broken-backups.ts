import assert from 'node:assert/strict'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { runCommand } from '../support/command.ts'
import { createRandom } from '../support/random.ts'
import { copyOf, type UsedFolder } from './kept-state.ts'
import { photograph } from './photograph.ts'

/** Asserts that a restore refuses backups cut at random lengths or with random bits flipped, and changes nothing. */
export async function assertBrokenBackupsRefused(t: TestContext, used: UsedFolder, backups: number) {
  const random = createRandom()
  t.diagnostic(`seed ${random.seed}`)
  const folder = await copyOf(used, t)
  const path = join(folder, '..', 'backup.json')
  const before = await photograph(folder)
  const whole = await readFile(used.backup)
  for (let made = 0; made < backups; made += 1) {
    const offset = random.integer(0, whole.length - 1)
    const isCut = random.integer(0, 1) === 0
    const broken = Buffer.from(isCut ? whole.subarray(0, offset) : whole)
    const bit = 1 << random.integer(0, 7)
    if (!isCut) broken[offset] = (whole[offset] ?? 0) ^ bit
    await writeFile(path, broken)
    const { code, stderr } = await runCommand(['restore', path, '--data', folder])
    const what = isCut ? `cut at ${offset}` : `bit ${bit} of ${offset}`
    assert.equal(code, 65, `${what}: ${stderr}`)
    assert.deepEqual(await photograph(folder), before, what)
  }
}
