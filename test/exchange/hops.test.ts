import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { summarizeExport } from '../../src/exchange/export.ts'
import { exportFormats } from '../../src/exchange/export-formats.ts'
import { type HopRecord, hasHops, resolveWay, writtenJump } from '../../src/exchange/hops.ts'
import { runAtOnce } from '../../src/scheduler.ts'
import { draft } from '../support/store.ts'
import { exported, recordsOf } from './records.ts'

const through = (name: string, hops: string, fields = {}) =>
  draft(name, { labels: { 'ssh.proxyjump': hops }, ...fields })
const bastion = draft('bastion', { hostname: '192.0.2.1', port: 2222, username: 'jump' })

/** Finds among records. */
function finder(...records: readonly HopRecord[]) {
  return (name: string) => records.find((record) => record.name === name)
}

function written(record: HopRecord, ...others: readonly HopRecord[]) {
  const jump = writtenJump(record, finder(record, ...others))
  return typeof jump === 'object' ? jump.word : jump
}

describe('the way to a record', () => {
  const words: [what: string, hops: string, word: string][] = [
    ['a record', 'bastion', 'jump@192.0.2.1:2222'],
    ['with another user', 'ops@bastion', 'ops@192.0.2.1:2222'],
    ['with another port', 'bastion:22', 'jump@192.0.2.1:22'],
    ['with both', 'ops@bastion:22', 'ops@192.0.2.1:22'],
    ['a host that is no record', 'a.example:22', 'a.example:22'],
    ['a list', 'a.example,bastion', 'a.example,jump@192.0.2.1:2222'],
    ['a record by its whole name first', 'ops@six:7', 'u@[2001:db8::1]:22'],
    ['none', 'none', 'none'],
    ['a host named none among others', 'a.example,none', 'a.example,none'],
  ]
  for (const [what, hops, word] of words)
    it(`goes by ${what}`, () => {
      const six = draft('ops@six:7', { hostname: '[2001:db8::1]', username: 'u' })
      assert.equal(written(through('web', hops), bastion, six, draft('none')), word)
    })

  it('has the hops of the first hop before it, and those of no other', () => {
    const [first, second] = [through('first', 'bastion'), through('second', 'other.example')]
    assert.equal(
      written(through('web', 'first,second', { port: 443 }), first, second, bastion),
      'jump@192.0.2.1:2222,ops@host.example:22,ops@host.example:22',
    )
  })

  it('leads nowhere through itself', () => {
    const [a, b] = [through('a', 'b'), through('b', 'a')]
    assert.equal(written(through('web', 'x.example,web')), 'goes through itself: "web" > "web"')
    assert.equal(written(a, b), 'goes through itself: "a" > "b" > "a"')
    assert.equal(written(through('web', 'a'), a, b), 'goes through itself: "web" > "a" > "b" > "a"')
  })

  it('has at most 16 hops, those of its hops included', () => {
    const chain = Array.from({ length: 17 }, (_, i) =>
      i === 0 ? draft('h0') : through(`h${i}`, `h${i - 1}`, { port: 1_000 + i }),
    )
    const [sixteen, seventeen] = [through('web', 'h15'), through('web', 'h16')]
    assert.equal(written(sixteen, ...chain)?.split(',').length, 16)
    assert.match(written(seventeen, ...chain) ?? '', /^goes through more than 16 hops, .*"h16" > "h15"/)
    assert.equal(
      written(through('web', Array(17).fill('a.b').join())),
      'goes through 17 hops; 16 are the most',
    )
  })

  it('grows by no more than a label with each hop', () => {
    // Each record goes twice through the one before, so a way that followed all hops would have 2^30.
    const ring = Array.from({ length: 31 }, (_, i) =>
      i === 0 ? draft('h0') : through(`h${i}`, `h${i - 1},h${i - 1}`),
    )
    let asked = 0
    const find = (name: string) => {
      asked += 1
      return ring.find((record) => record.name === name)
    }
    assert.match(String(resolveWay(through('web', 'h30'), find)), /more than 16 hops/)
    assert.ok(asked < 200, `${asked} records were looked up`)
  })

  it('does not end at its own address, which ssh takes for a loop', async () => {
    const web = through('web', 'gate', { hostname: '[2001:db8::1]', port: 2222 })
    const gate = { ...web, name: 'gate', labels: {} }
    const reason = 'goes through its own address, which ssh refuses as a loop'
    assert.equal(written(web, gate), reason)
    assert.equal(written(web, { ...gate, port: 22 }), 'ops@[2001:db8::1]:22')
    assert.equal(written(through('web', 'gate,bastion', { port: 2222 }), gate, bastion)?.split(',').length, 2)
    for (const word of ['host.example', 'ops@HOST.example:22', 'host.example:22'])
      for (const format of ['ssh-config', 'ansible'])
        assert.deepEqual((await exported(format, recordsOf([through('web', word)]))).obstacles, {
          web: reason,
        })
    for (const word of ['root@host.example', 'host.example:2222', 'gate'])
      assert.deepEqual((await exported('ssh-config', recordsOf([through('web', word), gate]))).obstacles, {})
  })

  const refused: [what: string, hop: object][] = [
    ['a user with a quote', { username: "o'ps" }],
    ['a user that is a template', { username: '{{ x }}' }],
    ['a user with a command', { username: '$(touch x)' }],
    ['a user like an option', { username: '-oProxyCommand=x' }],
    ['a user with white space', { username: 'a b' }],
    ['a zone', { hostname: 'fe80::1%eth0' }],
  ]
  for (const [what, fields] of refused)
    it(`is not written out through ${what}`, async () => {
      const records = [through('web', 'gate'), { ...draft('gate'), ...fields }] as const
      assert.match(written(...records) ?? '', /^goes through "gate", whose user and host/)
      assert.match(
        (await exported('ansible', recordsOf(records))).obstacles.web ?? '',
        /^goes through "gate"/,
      )
    })

  it('is refused where it is not a list of hops', () => {
    for (const hops of ['', 'a b', '-oProxyCommand=id', 'a,', 'a:65536'])
      assert.match(written(through('web', hops)) ?? '', /^has a label ssh\.proxyjump that is not/, hops)
    assert.equal(hasHops(through('web', 'NONE')), false)
  })
})

describe('an ssh-config export with hops that are records', () => {
  const jumpOf = (text: string) => /ProxyJump (.*)/.exec(text)?.[1]

  it('keeps the name of a hop whose section is in the file', async () => {
    const { text, warnings } = await exported(
      'ssh-config',
      recordsOf([through('web', 'ops@bastion'), bastion]),
    )
    assert.deepEqual([jumpOf(text), warnings], ['ops@bastion', []])
  })

  it('writes all hops out as soon as one of them is left out, with those before them', async () => {
    const inner = { ...through('inner', 'bastion'), username: 'in' }
    const records = recordsOf([through('web', 'inner,bastion'), inner, bastion])
    const { text } = await exported('ssh-config', records, ({ name }) => name !== 'inner')
    assert.equal(jumpOf(text), 'jump@192.0.2.1:2222,in@host.example:22,jump@192.0.2.1:2222')
  })

  it('writes a hop out that the format cannot express, that is of another kind, or that cannot be reached', async () => {
    for (const hop of [
      { ...bastion, name: 'my gate' },
      { ...bastion, name: 'gate', labels: { kind: 'rdp' } },
    ]) {
      const { text, obstacles } = await exported('ssh-config', recordsOf([through('web', hop.name), hop]))
      assert.equal(jumpOf(text), 'jump@192.0.2.1:2222')
      assert.equal(obstacles.web, undefined)
    }
    const lost = through('lost', 'a b', { hostname: '192.0.2.9' })
    const { obstacles } = await exported('ssh-config', recordsOf([through('web', 'x.example,lost'), lost]))
    assert.deepEqual(Object.keys(obstacles), ['lost'])
  })

  it('writes a hop out that is in the file, but that ssh takes for something else', async () => {
    for (const name of ['日本', 'a:0', 'a:65536', '#a']) {
      const { text, names } = await exported(
        'ssh-config',
        recordsOf([through('web', name), { ...bastion, name }]),
      )
      assert.deepEqual([names, jumpOf(text)], [['web', name], 'jump@192.0.2.1:2222'])
    }
  })

  it('refuses a hop whose host is the name of another record in the file', async () => {
    const records = [
      through('web', 'gate', { hostname: 'web.example' }),
      draft('gate', { labels: { kind: 'vpn' } }),
      draft('host.example'),
    ]
    assert.equal(
      (await exported('ssh-config', recordsOf(records))).obstacles.web,
      'goes through "gate", to whose host ssh would apply the record "host.example"',
    )
    const { obstacles } = await exported('ssh-config', recordsOf(records), ({ name }) => name === 'web')
    assert.deepEqual(obstacles, {})
  })

  it('ends where records are hops of each other behind others', async () => {
    const [a, b] = [through('a', 'x.example,b', { port: 443 }), through('b', 'x.example,a')]
    const { names, text } = await exported('ssh-config', recordsOf([a, b]))
    assert.deepEqual(names, ['a', 'b'])
    assert.match(text, /ProxyJump x\.example,ops@host\.example:\d+\n/)
    const deep = Array.from({ length: 5_000 }, (_, i) =>
      through(`h${i}`, `x.example,h${i + 1}`, { port: 1 + i }),
    )
    assert.equal((await exported('ssh-config', recordsOf(deep))).names.length, 5_000)
  })

  it('says a warning of many records once, with the number of the others', async () => {
    const gate = draft('gate', { labels: { 'ssh.identityfile': '~/k' } })
    const records = recordsOf([
      gate,
      ...Array.from({ length: 300 }, (_, i) => draft(`n${i}`, { labels: { 'ssh.proxyjump': 'gate,lost' } })),
      ...['x', 'y'].map((name) => draft(name, { labels: { 'ssh.proxyjump': 'two' } })),
    ])
    for (const format of ['ansible', 'ansible-json'])
      assert.deepEqual((await exported(format, records)).warnings, [
        'n0 goes through "gate", whose ssh.identityfile is not used for that; so do 299 more records',
        'n0 goes through "lost", which is the name of no record that you see; so do 299 more records',
        'x goes through "two", which is the name of no record that you see; so does 1 more record',
      ])
    const each = recordsOf(
      Array.from({ length: 30 }, (_, i) => draft(`n${i}`, { labels: { 'ssh.proxyjump': `lost${i}` } })),
    )
    const work = summarizeExport(exportFormats.ansible, { records: each, hasLabels: true }, 1)
    const { warnings, warningCount } = runAtOnce(work)
    assert.deepEqual([warnings.length, warningCount], [20, 30])
  })

  it('warns of a hop that is the name of no record, and of a key that is not used', async () => {
    const gate = { ...bastion, labels: { 'ssh.identityfile': '~/k', kind: 'vpn' } }
    const records = [
      through('a', 'gate'),
      through('b', 'gate.example'),
      through('c', '[::1]'),
      through('d', 'bastion'),
    ]
    const { warnings } = await exported('ssh-config', recordsOf([...records, gate]))
    assert.deepEqual(warnings, [
      'a goes through "gate", which is the name of no record that you see',
      'd goes through "bastion", whose ssh.identityfile is not used for that',
    ])
  })
})

describe('an ansible export with hops', () => {
  it('has them written out, and the key', async () => {
    const labels = {
      'ssh.proxyjump': 'bastion',
      'ssh.identityfile': '~/a b',
      'pg.dbname': 'x',
      kind: 'ssh',
      env: 'p',
    }
    const { text } = await exported('ansible', recordsOf([draft('web', { labels }), bastion]))
    assert.match(text, /\n {6}ansible_ssh_common_args: "-J 'jump@192\.0\.2\.1:2222'"\n/)
    assert.match(
      text,
      /\n {6}ansible_ssh_private_key_file: "~\/a b"\n {6}connbook_label_env: "p"\n {4}"bastion"/,
    )
  })

  it('refuses a key whose path Ansible would pass on otherwise', async () => {
    for (const [path, reason] of [
      ['a"b', /quotation mark/],
      ['%d/x', /expand/],
      ['', /is empty/],
    ] as const) {
      const records = recordsOf([draft('web', { labels: { 'ssh.identityfile': path } })])
      assert.match((await exported('ansible', records)).obstacles.web ?? '', reason)
    }
  })
})

describe('the kind of a record', () => {
  const kinds = ['ssh', 'postgres', 'postgresql', 'pg', 'rdp', '', 'PG']
  const records = recordsOf([draft('plain'), ...kinds.map((kind) => draft(`k${kind}`, { labels: { kind } }))])
  const meant: Record<string, string[]> = {
    'ssh-config': ['plain', 'kssh'],
    ansible: ['plain', 'kssh'],
    'pg-service': ['plain', 'kpostgres', 'kpostgresql', 'kpg'],
    json: records.map(({ name }) => name),
  }
  for (const [format, names] of Object.entries(meant))
    it(`decides whether ${format} has it`, async () => {
      const { names: had, obstacles } = await exported(format, records)
      assert.deepEqual([had, obstacles], [names, {}])
    })

  it('is looked at before anything is checked', async () => {
    const { obstacles } = await exported('ssh-config', recordsOf([draft('a b', { labels: { kind: 'rdp' } })]))
    assert.deepEqual(obstacles, {})
  })
})
