import '../../support/node-version.ts'
import '../../support/light-argon2.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { runExecutable } from '../../support/executable.ts'
import { hostName, openServerOfHosts } from './client-home.ts'

/** More than a pipe holds. */
const RECORDS = 10_000

describe('connbook ls of many records', () => {
  it('ends well when the pager is closed', async (t) => {
    const { environment } = await openServerOfHosts(t, RECORDS)
    const through = ['/bin/bash', '--norc', '-o', 'pipefail', '-c', '"$0" "$@" | head -1']
    const { code, stdout, stderr } = await runExecutable(['ls', '--names'], { environment, through })
    assert.deepEqual([code, stdout, stderr], [0, `${hostName(0)}\n`, ''])
  })
})
