import '../../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { logIn } from '../../support/api.ts'
import { startExecutable } from '../../support/executable.ts'
import { createClient } from '../../support/http-client.ts'
import { createRandom } from '../../support/random.ts'
import { admin, usedFolder } from '../../support/service.ts'

describe('kill -9 around a change of the password', { timeout: 300_000 }, () => {
  it('keeps the new password if the change was answered; else exactly one of the two is good', async (t) => {
    const random = createRandom()
    t.diagnostic(`seed ${random.seed}`)
    const folder = await usedFolder(t)
    let { password } = admin
    // In the first round the server lives until it has answered.
    for (const isAwaited of [true, false]) {
      const next = `${password} and more`
      const server = await startExecutable(t, ['--data', folder])
      const headers = await logIn(server.url, { ...admin, password })
      const asked = createClient(server.url)('POST', '/v1/password', {
        headers,
        body: { password, new_password: next },
      })
      const answered = asked.then(
        ({ status }) => {
          assert.equal(status, 200)
          return true
        },
        // The server was killed before it answered.
        () => false,
      )
      // The pause is not to wait for the answer, but to interrupt the change at a random moment.
      await (isAwaited ? answered : Promise.race([answered, pause(random.integer(0, 150))]))
      await server.stop('SIGKILL')

      const again = await startExecutable(t, ['--data', folder])
      const isGood = async (word: string) => {
        const body = { ...admin, password: word }
        return (await createClient(again.url)('POST', '/login', { body })).status === 200
      }
      const [isOld, isNew] = [await isGood(password), await isGood(next)]
      assert.equal(isNew, !isOld, 'exactly one of them')
      if (await answered) assert.ok(isNew, 'the change was answered')
      await again.stop()
      if (isNew) password = next
    }
  })
})
