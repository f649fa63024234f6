import '../../support/node-version.ts'
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { it } from 'node:test'
import { runExecutable, startExecutable } from '../../support/executable.ts'
import { createRandom } from '../../support/random.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const ROUNDS = 200
/** One of each kind. */
const COMMANDS_A_ROUND = 3
const DONE = 0
/** The folder was not free in time. */
const IN_USE = 75
/** The server was killed before it answered, and nobody knows. */
const UNKNOWN = 6

/** What a command was to make, and how it ended. */
interface Tried {
  readonly kind: 'record' | 'user' | 'client'
  readonly name: string
  readonly code: number | null
  readonly stderr: string
}

/** By what a server has ended, and the commands that ran beside it. */
interface Round {
  readonly signal: 'SIGTERM' | 'SIGKILL'
  readonly tried: readonly Tried[]
}

it('loses nothing while a server starts, stops and is killed beside commands', async (t) => {
  const random = createRandom()
  const data = join(await temporaryFolder(t), 'data')
  assert.equal((await runExecutable(['client', 'add', 'first', '--data', data])).code, 0)
  const rounds: Round[] = []
  for (let round = 0; round < ROUNDS; round++) {
    const serving = startExecutable(t, ['--data', data, '--log-format', 'json'], { isTimed: true })
    const commands = Array.from({ length: COMMANDS_A_ROUND }, (_, i) => tryCommand(data, `${round}-${i}`, i))
    const server = await serving
    // Some commands meet the server at its end.
    const late = tryCommand(data, `${round}-late`, round)
    const signal = random.pick(['SIGTERM', 'SIGKILL'] as const)
    const ended = server.stop(signal)
    rounds.push({ signal, tried: await Promise.all([...commands, late]) })
    await ended
  }
  const made = await readAll(data)
  for (const { signal, tried } of rounds) {
    const codes = [DONE, IN_USE, ...(signal === 'SIGKILL' ? [UNKNOWN] : [])]
    for (const { kind, name, code, stderr } of tried) {
      assert.ok(codes.includes(code ?? -1), `${kind} ${name}, ${signal}: ${code} ${stderr}`)
      if (code === DONE) assert.ok(made[kind].has(name), `${kind} ${name} was acknowledged, and is lost`)
      if (code === IN_USE) assert.ok(!made[kind].has(name), `${kind} ${name} was refused, and is there`)
    }
  }
  const checked = await runExecutable(['check', '--data', data])
  assert.equal(checked.code, 0, checked.stdout + checked.stderr)
  const all = rounds.flatMap(({ tried }) => tried)
  const count = (ended: number) => all.filter(({ code }) => code === ended).length
  t.diagnostic(`seed ${random.seed}, ${rounds.length} rounds, ${all.length} commands:`)
  t.diagnostic(`${count(DONE)} done, ${count(IN_USE)} refused, ${count(UNKNOWN)} without an answer`)
})

async function tryCommand(data: string, name: string, which: number): Promise<Tried> {
  const kind = (['record', 'user', 'client'] as const)[which % 3] ?? 'record'
  const words = {
    record: ['add', name, '--hostname', 'h.example', '--port', '22', '--username', 'u'],
    user: ['user', 'add', name],
    client: ['client', 'add', name],
  }[kind]
  const input = kind === 'user' ? 'a password that nobody guesses\n' : ''
  const { code, stderr } = await runExecutable([...words, '--data', data], { input })
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
