import '../../support/node-version.ts'
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { it } from 'node:test'
import { runExecutable, startExecutable } from '../../support/executable.ts'
import { createRandom } from '../../support/random.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const ROUNDS = 200
const COMMANDS_A_ROUND = 4
/** Done; the folder was not free in time; the server has ended without an answer, and nobody knows. */
const CODES = [0, 75, 6]

/** What a command was to make, and how it ended. */
interface Tried {
  readonly kind: 'record' | 'user' | 'client'
  readonly name: string
  readonly code: number | null
  readonly stderr: string
}

it('loses nothing while a server starts, stops and is killed beside commands', async (t) => {
  const random = createRandom()
  const data = join(await temporaryFolder(t), 'data')
  assert.equal((await runExecutable(['client', 'add', 'first', '--data', data])).code, 0)
  const tried: Tried[] = []
  for (let round = 0; round < ROUNDS; round++) {
    const serving = startExecutable(t, ['--data', data, '--log-format', 'json'], { isTimed: true })
    const commands = Array.from({ length: COMMANDS_A_ROUND }, (_, i) => tryCommand(data, `${round}-${i}`, i))
    const server = await serving
    // Some commands meet the server at its end.
    const late = tryCommand(data, `${round}-late`, round)
    const ended = server.stop(random.pick(['SIGTERM', 'SIGKILL']))
    tried.push(...(await Promise.all([...commands, late])))
    await ended
  }
  const made = await readAll(data)
  let unknown = 0
  for (const { kind, name, code, stderr } of tried) {
    assert.ok(CODES.includes(code ?? -1), `${kind} ${name}: ${code} ${stderr}`)
    if (code === 0) assert.ok(made[kind].has(name), `${kind} ${name} was acknowledged, and is lost`)
    if (code === 75) assert.ok(!made[kind].has(name), `${kind} ${name} was refused, and is there`)
    if (code === 6) unknown += 1
  }
  const checked = await runExecutable(['check', '--data', data])
  assert.equal(checked.code, 0, checked.stdout + checked.stderr)
  const done = tried.filter(({ code }) => code === 0).length
  t.diagnostic(`${tried.length} commands: ${done} done, ${unknown} without an answer`)
})

async function tryCommand(data: string, name: string, which: number): Promise<Tried> {
  const kind = (['record', 'user', 'client'] as const)[which % 3] ?? 'record'
  const words = {
    record: ['add', name, '--hostname', 'h.example', '--port', '22', '--username', 'u'],
    user: ['user', 'add', name],
    client: ['client', 'add', name],
  }[kind]
  const input = kind === 'user' ? 'a password that nobody guesses\n' : ''
  const { code, stderr } = await runExecutable([...words, '--data', data, '--no-retry'], { input })
  return { kind, name, code, stderr }
}

async function readAll(data: string): Promise<Record<Tried['kind'], Set<string>>> {
  const namesOf = async (...words: string[]) => {
    const { code, stdout, stderr } = await runExecutable([...words, '--data', data])
    assert.equal(code, 0, stderr)
    return new Set(stdout.split('\n').map((line) => line.split('\t')[0] ?? ''))
  }
  return {
    record: await namesOf('ls', '--names'),
    user: await namesOf('user', 'list'),
    client: await namesOf('client', 'list'),
  }
}
