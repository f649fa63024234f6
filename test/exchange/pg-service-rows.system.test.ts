import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { type Labels, labelOf } from '../../src/store/labels.ts'
import { makeCertificate } from '../support/certificate.ts'
import { missing } from '../support/debian.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { read } from './read-text.ts'
import { listenAsPostgres, psql, run } from './tools.ts'

describe('a service file', { skip: missing('psql') }, () => {
  it('means the same to psql and to an import', async (t) => {
    const { seen, port } = await listenAsPostgres(t)
    const at = `host=127.0.0.1\nport=${port}\n`
    const text =
      `# mine\nuser=before\n[ my db ] # comment\n  ${at}user=a#b "c"=\\d\ndbname= lead\\x\n\n` +
      `[twice]\n${at}user=first\nuser=second\ndbname=first\n[twice]\n${at}user=third\ndbname=third\n` +
      `\t[tab]\r\n\t${at}user='quoted'\t\r\n#user=x\ndbname=#x\nsslmode=disable\nconnect_timeout=60\n` +
      `[zeros]\nhost=127.0.0.1\nport= 0${port}\nuser= u\ndbname=it's\n` +
      `[both]\nhost=nowhere.invalid\nhostaddr=127.0.0.2\nport=${port}\nuser=u\ndbname=d\n` +
      `[alone]\nhostaddr=127.0.0.2\nport=${port}\nuser=u\ndbname=d\n` +
      `[socket]\nhost=/tmp\nhostaddr=127.0.0.2\nport=${port}\nuser=u\ndbname=d\n` +
      `[empty]\nhostaddr=\n${at}user=u\ndbname=d\n`
    const file = join(await temporaryFolder(t), 'pg_service.conf')
    await writeFile(file, text)
    const env = {
      PATH: process.env.PATH,
      PGSERVICEFILE: file,
      PGGSSENCMODE: 'disable',
      PGSSLMODE: 'disable',
      LC_ALL: 'C.UTF-8',
    }
    const { drafts, faults } = read('pg-service', text)
    assert.deepEqual(faults, [])
    assert.equal(drafts.length, 8)
    for (const { name, hostname, username, labelsPatch } of drafts) {
      const service = `service='${name.replaceAll(/['\\]/g, '\\$&')}'`
      await assert.rejects(run(psql, ['-w', service], { env }), /refused/)
      const database = labelOf(labelsPatch as Labels, 'pg.dbname')
      assert.deepEqual(seen.at(-1), { address: hostname, username, database }, name)
    }
  })

  it('is refused where psql trusts a server by a name that no record can have beside its address', async (t) => {
    const certificate = await makeCertificate(t)
    const { seen, port } = await listenAsPostgres(t, certificate)
    const file = join(await temporaryFolder(t), 'pg_service.conf')
    const env = { PATH: process.env.PATH, PGSERVICEFILE: file, PGGSSENCMODE: 'disable', LC_ALL: 'C.UTF-8' }
    const ask = async (lines: string, mode: string) => {
      const text = `[a]\n${lines}port=${port}\nuser=u\nsslmode=${mode}\n`
      await writeFile(file, `${text}sslrootcert=${certificate.certPath}\n`)
      const { stderr } = await run(psql, ['-w', 'service=a'], { env }).catch((error) => error)
      return { faults: read('pg-service', text).faultCount, stderr: String(stderr) }
    }
    const [address, both] = ['hostaddr=127.0.0.1\n', 'host=localhost\nhostaddr=127.0.0.1\n']
    const named = await ask(both, 'verify-full')
    assert.deepEqual([named.faults, seen.length], [1, 1], named.stderr)
    // As a record of the address alone would be exported.
    const lost = await ask('host=127.0.0.1\n', 'verify-full')
    assert.match(lost.stderr, /does not match host name "127\.0\.0\.1"/)
    for (const lines of [address, both]) {
      const checked = await ask(lines, 'verify-ca')
      assert.deepEqual([checked.faults, /refused/.test(checked.stderr)], [0, true], checked.stderr)
    }
    assert.equal(seen.length, 3)
  })

  it('is refused where psql refuses it', async (t) => {
    const file = join(await temporaryFolder(t), 'pg_service.conf')
    const env = { PATH: process.env.PATH, PGSERVICEFILE: file, LC_ALL: 'C.UTF-8' }
    const start = '[a]\nhost=127.0.0.1\nuser=u\n'
    for (const line of [
      'nonsense',
      'port =1',
      'hostaddr=localhost',

      'service=b',
      'sslmode=on',
      `#${'x'.repeat(1021)}`,
      'port=x',
    ]) {
      await writeFile(file, `${start}${line}\n`)
      assert.equal(read('pg-service', `${start}${line}\n`).faults.length, 1, line)
      await assert.rejects(
        run(psql, ['-w', 'service=a'], { env }),
        // The message would have the words of the command line, too.
        ({ stderr }) => /service file|sslmode|invalid integer|too long|network address/.test(stderr),
        line,
      )
    }
  })
})
