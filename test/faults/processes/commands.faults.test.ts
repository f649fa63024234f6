import '../../support/node-version.ts'
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cp } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { executable, runExecutable } from '../../support/executable.ts'
import { createRandom } from '../../support/random.ts'
import { usedFolder } from '../../support/service.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const PAIRS = 20
const KILLS = 60

async function setUp(t: TestContext) {
  const data = join(await temporaryFolder(t), 'data')
  await cp(await usedFolder(t), data, { recursive: true })
  const run = (words: readonly string[]) => runExecutable([...words, '--data', data])
  const list = async (...words: string[]) => {
    const { code, stdout, stderr } = await run(words)
    assert.deepEqual([code, stderr], [0, ''])
    return stdout.split('\n').map((line) => line.split('\t')[0] ?? '')
  }
  return { data, run, list }
}

const wordsFor = (name: string) => ['add', name, 'deploy@web.example:22']

describe('commands on a folder without a server', () => {
  it('are both done, or one is refused with 75, when they come at the same time', async (t) => {
    const { run, list } = await setUp(t)
    const [records, clients]: string[][] = [[], []]
    for (let i = 0; i < PAIRS; i += 1) {
      const both = await Promise.all([run(wordsFor(`web${i}`)), run(['client', 'add', `ci${i}`])])
      for (const { code, stderr } of both) assert.ok(code === 0 || code === 75, `${code} ${stderr}`)
      assert.ok(both.some(({ code }) => code === 0))
      if (both[0].code === 0) records?.push(`web${i}`)
      if (both[1].code === 0) clients?.push(`ci${i}`)
    }
    assert.deepEqual((await list('ls', '--names')).filter(Boolean).sort(), records?.sort())
    const listed = (await list('client', 'list')).filter((name) => name.startsWith('ci'))
    assert.deepEqual(listed.sort(), clients?.sort())
    assert.equal((await run(['check'])).code, 0)
  })

  it('have made what they acknowledged when they are killed, and the folder opens again', async (t) => {
    const random = createRandom()
    t.diagnostic(`seed ${random.seed}`)
    const { data, run, list } = await setUp(t)
    const began = performance.now()
    assert.equal((await run(wordsFor('first'))).code, 0)
    const wholeMs = Math.ceil(performance.now() - began)
    const acknowledged = ['first']
    const killed: string[] = []
    for (let i = 0; i < KILLS; i += 1) {
      const name = `web${i}`
      const child = spawn(executable, [...wordsFor(name), '--data', data], {
        env: { PATH: process.env.PATH },
      })
      let stderr = ''
      child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text))
      const ended = once(child, 'close')
      await Promise.race([ended, setTimeout(random.integer(wholeMs / 4, wholeMs * 1.5))])
      child.kill('SIGKILL')
      const [code] = await ended
      if (stderr.includes(`Added "${name}"`)) acknowledged.push(name)
      else if (code === null) killed.push(name)
      else assert.fail(`${code} ${stderr}`)
    }
    const names = await list('ls', '--names')
    for (const name of acknowledged) assert.ok(names.includes(name), `${name} was acknowledged, and is lost`)
    assert.equal((await run(['check'])).code, 0)
    const made = killed.filter((name) => names.includes(name)).length
    t.diagnostic(
      `${acknowledged.length} acknowledged; ${killed.length} killed before, ${made} of them with the change made`,
    )
    assert.ok(killed.length > 0 && acknowledged.length > 1)
  })
})
