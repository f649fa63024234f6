import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { it } from 'node:test'
import { promisify } from 'node:util'

const collection = new URL('../../src/service/idle-collection.ts', import.meta.url).href

/** A WeakRef keeps its target until the end of the turn. */
const script = `
  const { thisProcess } = await import(${JSON.stringify(collection)})
  const nextTurn = () => new Promise((resolve) => setImmediate(resolve))
  const { held, collect } = thisProcess()
  const before = held()
  const garbage = new WeakRef(Array.from({ length: 64 }, () => Buffer.alloc(1024 * 1024)))
  await nextTurn()
  const grown = held() - before
  await nextTurn()
  collect()
  console.log(JSON.stringify({ grown, isLeft: garbage.deref() !== undefined }))
`

// In a process of its own, so that nothing else takes or frees memory meanwhile. No assertion gets the buffers: a message
// that shows 64 MiB of them takes all memory of the machine.
it('a process is measured, and collects its garbage', async () => {
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', script])
  const { grown, isLeft } = JSON.parse(stdout)
  assert.ok(grown >= 32 * 1024 * 1024, `${grown} bytes`)
  assert.equal(isLeft, false)
})
