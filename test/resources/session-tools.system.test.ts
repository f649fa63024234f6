import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { appendFile, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { promisify } from 'node:util'
import { missing } from '../support/debian.ts'
import { admin, start } from '../support/service.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

describe("curl's cookie jar", { skip: missing('curl') }, () => {
  it('has nothing of the session after a logout', async (t) => {
    const { post, cookies } = await setUpJar(t)
    await post('/login', admin)
    assert.equal((await cookies()).length, 1)
    assert.equal(await post('/logout'), 'Success')
    assert.deepEqual(await cookies(), [])
  })

  it('loses the session also beside a cookie of an earlier version', async (t) => {
    const { post, cookies, jar } = await setUpJar(t)
    await post('/login', admin)
    const [own = ''] = await cookies()
    await appendFile(jar, `${own.replace(/connbook_session_\w+/, 'connbook_session')}\n`)
    assert.equal((await cookies()).length, 2)
    assert.equal(await post('/logout'), 'Success')
    // This curl forgets one cookie an answer; a later one forgets both.
    assert.deepEqual(
      (await cookies()).filter((line) => line.includes('connbook_session_')),
      [],
    )
  })
})

async function setUpJar(t: TestContext) {
  const { url } = await start(t)
  const jar = join(await temporaryFolder(t), 'cookies.txt')
  return {
    jar,
    async post(path: string, body: object = {}): Promise<string> {
      const words = ['-s', '-b', jar, '-c', jar, '-d', JSON.stringify(body), url + path]
      return (await promisify(execFile)('curl', words)).stdout
    },
    /** The lines of cookies: those of comments begin with a blank after the `#`. */
    async cookies(): Promise<string[]> {
      return (await readFile(jar, 'utf8')).split('\n').filter((line) => line !== '' && !line.startsWith('# '))
    },
  }
}
