import './support/node-version.ts'
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { describe, it } from 'node:test'
import { logEvents } from '../src/log-events.ts'
import { createMemoryLog } from './support/memory-log.ts'

describe('the events of the log', () => {
  it('do not compile with another name, level or field; tsc holds this', () => {
    const log = createMemoryLog()
    const name = 'keys' as 'accounts' | 'keys'
    // @ts-expect-error: it is not in the table.
    log.info('unheard_of')
    // @ts-expect-error: its level is `warn`.
    log.info('plain_http', { address: '192.0.2.1' })
    // @ts-expect-error: its field is `signal`.
    log.info('stopping', { signals: 'SIGTERM' })
    // @ts-expect-error: only one part is in the table.
    log.error(`${name}_not_taken_away`)
    log.error(`${name}_missing`, { file: 'keys.json' })
    assert.equal(log.events.length, 5)
  })

  it('have the names that the manual gives as new, and no longer the old ones', async () => {
    const chapter = await readFile(new URL('../src/manual/log.md', import.meta.url), 'utf8')
    const renamed = chapter.slice(chapter.indexOf('## Names that have changed'))
    const rows = [...renamed.matchAll(/^\| `(\w+)` \| `(\w+)` \|$/gm)]
    assert.ok(rows.length > 0)
    for (const [, old = '', current = ''] of rows)
      assert.deepEqual([old in logEvents, current in logEvents], [false, true], current)
  })
})
