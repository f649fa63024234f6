import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { describe, it } from 'node:test'
import { ANSIBLE_GROUPS_MAX } from '../../src/exchange/ansible-inventory.ts'
import { exportPieces, summarizeExport } from '../../src/exchange/export.ts'
import { type ExportFormatName, exportFormatNames, exportFormats } from '../../src/exchange/export-formats.ts'
import { STREAM_PIECE_CHARACTERS } from '../../src/limits.ts'
import { runAtOnce } from '../../src/scheduler.ts'
import type { NewConfiguration } from '../../src/store/configuration.ts'
import { draft } from '../support/store.ts'
import { exported, named, recordsOf } from './records.ts'

const two = recordsOf([
  { name: 'db/main', hostname: '[2001:db8::7]', port: 5432, username: 'it\'s "me"' },
  { name: 'web 1', hostname: 'web.example', port: 22, username: 'ops, night' },
])

const groups = (count: number) => Array.from({ length: count }, (_, i) => `g${i}`).join(',')

/** Of a record of no store, whose hops are these. */
function controlPath(id: number, way = ''): string {
  const hash = createHash('sha256')
    .update(JSON.stringify(['', id, way]))
    .digest('hex')
  return `%(directory)s/${hash.slice(0, 12)}-%%r-%%p`
}

describe('an export', () => {
  const texts: Record<string, string> = {
    json:
      '{"configurations":[' +
      '{"id":1,"name":"db/main","hostname":"[2001:db8::7]","port":5432,"username":"it\'s \\"me\\""},' +
      '{"id":2,"name":"web 1","hostname":"web.example","port":22,"username":"ops, night"}]}\n',
    jsonl:
      '{"id":1,"name":"db/main","hostname":"[2001:db8::7]","port":5432,"username":"it\'s \\"me\\""}\n' +
      '{"id":2,"name":"web 1","hostname":"web.example","port":22,"username":"ops, night"}\n',
    csv:
      'name,hostname,port,username\r\n' +
      'db/main,[2001:db8::7],5432,"it\'s ""me"""\r\nweb 1,web.example,22,"ops, night"\r\n',
    // ssh refuses the username of the one, and the name of the other.
    'ssh-config': '',
    ansible:
      'all:\n  hosts:\n' +
      '    "db/main":\n      ansible_host: "2001:db8::7"\n      ansible_port: 5432\n      ansible_user: "it\'s \\"me\\""\n' +
      '    "web 1":\n      ansible_host: "web.example"\n      ansible_port: 22\n      ansible_user: "ops, night"\n',
    'ansible-json':
      '{"_meta":{"hostvars":{' +
      '"db/main":{"ansible_host":"2001:db8::7","ansible_port":5432,"ansible_user":"it\'s \\"me\\""},' +
      '"web 1":{"ansible_host":"web.example","ansible_port":22,"ansible_user":"ops, night"}}},' +
      '"all":{"children":["ungrouped"]},"ungrouped":{"hosts":["db/main","web 1"]}}\n',
    'prometheus-sd':
      '[{"targets":["[2001:db8::7]:5432"],"labels":{"__meta_connbook_name":"db/main"}},' +
      '{"targets":["web.example:22"],"labels":{"__meta_connbook_name":"web 1"}}]\n',
    hosts: '',
    'pg-service':
      '[db/main]\nhost=2001:db8::7\nport=5432\nuser=it\'s "me"\n\n' +
      '[web 1]\nhost=web.example\nport=22\nuser=ops, night\n',
    env:
      "CONNBOOK_DB_MAIN_NAME='db/main'\nCONNBOOK_DB_MAIN_HOSTNAME='[2001:db8::7]'\n" +
      "CONNBOOK_DB_MAIN_PORT=5432\nCONNBOOK_DB_MAIN_USERNAME='it'\\''s \"me\"'\n" +
      "CONNBOOK_WEB_1_NAME='web 1'\nCONNBOOK_WEB_1_HOSTNAME='web.example'\n" +
      "CONNBOOK_WEB_1_PORT=22\nCONNBOOK_WEB_1_USERNAME='ops, night'\n",
  }
  for (const format of exportFormatNames) {
    it(`writes ${format} in its usual form`, async () => {
      assert.equal((await exported(format, two)).text, texts[format])
    })

    it(`writes ${format} without records, and in more than one piece`, async () => {
      const none = await exported(format, [])
      assert.deepEqual([none.names, none.obstacles], [[], {}])
      const drafts = Array.from({ length: 1201 }, (_, i) => draft(`n${i}`, { hostname: '192.0.2.1' }))
      const many = await exported(format, recordsOf(drafts))
      assert.equal(many.names.length, 1201)
      assert.equal(
        many.text.match(/n1200/gi)?.length,
        ({ env: 5, 'ansible-json': 2 } as Record<string, number>)[format] ?? 1,
      )
    })
  }

  it('comes in pieces of about 64 KiB, and is summarized in steps of few records', (t) => {
    t.mock.method(performance, 'now', () => 0)
    const records = recordsOf(
      Array.from({ length: 2_000 }, (_, i) => draft(`a${i}`, { username: 'u'.repeat(i % 200) })),
    )
    const work = summarizeExport(exportFormats.csv, { records, hasLabels: false }, 1)
    let steps = 1
    let next = work.next()
    for (; !next.done; next = work.next()) steps += 1
    const pieces = [...exportPieces(records, next.value)].filter((piece) => piece !== '')
    assert.equal(pieces.length, Math.ceil(next.value.bytes / STREAM_PIECE_CHARACTERS))
    assert.ok(steps > records.length / 20, `${steps} steps`)
    for (const piece of pieces)
      assert.ok(piece.length < STREAM_PIECE_CHARACTERS + 1_000, `${piece.length} bytes`)
  })

  it('lets other work run when a filter takes long, whatever it keeps', (t) => {
    let now = 0
    t.mock.method(performance, 'now', () => now)
    let looks = 0
    const matches = () => {
      looks += 1
      now += 1
      return looks % 100 === 0
    }
    const records = recordsOf(Array.from({ length: 200 }, (_, i) => draft(`a${i}`, { labels: { i: 'x' } })))
    for (const format of exportFormatNames) {
      const work = summarizeExport(exportFormats[format], { records, hasLabels: true, matches }, 1)
      let next = work.next()
      for (looks = 0; !next.done; looks = 0) {
        next = work.next()
        // The end of one pass, and the beginning of the next.
        assert.ok(looks <= 32, `${looks} looks at once for ${format}`)
      }
      looks = 0
      for (const _ of exportPieces(records, next.value)) {
        assert.ok(looks <= 17, `${looks} looks for a piece of ${format}`)
        looks = 0
      }
    }
  })

  it('lets other work run while it skips records that it leaves out', (t) => {
    let now = 0
    t.mock.method(performance, 'now', () => now)
    const records = recordsOf(Array.from({ length: 2_000 }, (_, i) => draft(`a ${i}`)))
    const slowly = (function* () {
      for (const record of records) {
        now += 0.1
        yield record
      }
    })()
    const pieces = [...exportPieces(slowly, { form: exportFormats['ssh-config'], clashes: new Set() })]
    assert.equal(pieces.join(''), '')
    assert.ok(pieces.length > records.length / 20, `${pieces.length} pieces`)
  })

  const labelled = recordsOf([
    draft('a', {
      labels: {
        env: 'a;b\\',
        group: 'web, db,web',
        'ssh.proxyjump': 'ops@bastion:22,[2001:db8::1]',
        'ssh.identityfile': '~/.ssh/a b',
        'pg.dbname': 'app',
        'pg.sslmode': 'verify-full',
      },
    }),
    draft('b'),
  ])
  const labelledTexts: Record<string, string> = {
    json:
      '{"configurations":[{"id":1,"name":"a","hostname":"host.example","port":22,"username":"ops","labels":' +
      '{"env":"a;b\\\\","group":"web, db,web","pg.dbname":"app","pg.sslmode":"verify-full",' +
      '"ssh.identityfile":"~/.ssh/a b","ssh.proxyjump":"ops@bastion:22,[2001:db8::1]"}},' +
      '{"id":2,"name":"b","hostname":"host.example","port":22,"username":"ops"}]}\n',
    csv:
      'name,hostname,port,username,labels\r\n' +
      'a,host.example,22,ops,"env=a\\;b\\\\;group=web, db,web;pg.dbname=app;pg.sslmode=verify-full;' +
      'ssh.identityfile=~/.ssh/a b;ssh.proxyjump=ops@bastion:22,[2001:db8::1]"\r\n' +
      'b,host.example,22,ops,\r\n',
    'ssh-config':
      'Host a\n  HostName host.example\n  Port 22\n  User ops\n' +
      '  ProxyJump ops@bastion:22,[2001:db8::1]\n  IdentityFile "~/.ssh/a b"\n' +
      'Host b\n  HostName host.example\n  Port 22\n  User ops\n',
    ansible:
      'all:\n  hosts:\n' +
      '    "a":\n      ansible_host: "host.example"\n      ansible_port: 22\n      ansible_user: "ops"\n' +
      '      ansible_ssh_common_args: "-J \'ops@bastion:22,[2001:db8::1]\'"\n' +
      `      ansible_control_path: "${controlPath(1, 'ops@bastion:22,[2001:db8::1]')}"\n` +
      '      ansible_ssh_private_key_file: "~/.ssh/a b"\n      connbook_label_env: "a;b\\\\"\n' +
      '    "b":\n      ansible_host: "host.example"\n      ansible_port: 22\n      ansible_user: "ops"\n' +
      `      ansible_control_path: "${controlPath(2)}"\n` +
      '  children:\n    "web":\n      hosts:\n        "a": {}\n    "db":\n      hosts:\n        "a": {}\n',
    'ansible-json':
      '{"_meta":{"hostvars":{"a":{"ansible_host":"host.example","ansible_port":22,"ansible_user":"ops",' +
      '"ansible_ssh_common_args":"-J \'ops@bastion:22,[2001:db8::1]\'",' +
      `"ansible_control_path":"${controlPath(1, 'ops@bastion:22,[2001:db8::1]')}",` +
      '"ansible_ssh_private_key_file":"~/.ssh/a b","connbook_label_env":"a;b\\\\"},' +
      '"b":{"ansible_host":"host.example","ansible_port":22,"ansible_user":"ops",' +
      `"ansible_control_path":"${controlPath(2)}"}}},` +
      '"all":{"children":["ungrouped","web","db"]},"web":{"hosts":["a"]},"db":{"hosts":["a"]},' +
      '"ungrouped":{"hosts":["b"]}}\n',
    'prometheus-sd':
      '[{"targets":["host.example:22"],"labels":{"__meta_connbook_name":"a",' +
      '"__meta_connbook_label_env":"a;b\\\\","__meta_connbook_label_group":"web, db,web",' +
      '"__meta_connbook_label_pg_dbname":"app","__meta_connbook_label_pg_sslmode":"verify-full",' +
      '"__meta_connbook_label_ssh_identityfile":"~/.ssh/a b",' +
      '"__meta_connbook_label_ssh_proxyjump":"ops@bastion:22,[2001:db8::1]"}},' +
      '{"targets":["host.example:22"],"labels":{"__meta_connbook_name":"b"}}]\n',
    'pg-service':
      '[a]\nhost=host.example\nport=22\nuser=ops\ndbname=app\nsslmode=verify-full\n\n' +
      '[b]\nhost=host.example\nport=22\nuser=ops\n',
  }
  for (const [format, text] of Object.entries(labelledTexts)) {
    it(`writes labels as ${format} has them`, async () => {
      assert.equal((await exported(format, labelled)).text, text)
    })
  }

  it('leaves labels out of env', async () => {
    const plain = recordsOf(['a', 'b'].map((name) => draft(name)))
    assert.equal((await exported('env', labelled)).text, (await exported('env', plain)).text)
  })

  const keysElsewhere = ['\\\\host\\share\\id', 'C:\\keys\\id', '//host/share/id'].map(
    (path): [Record<string, string>, RegExp] => [{ 'ssh.identityfile': path }, /Windows may take/],
  )
  const badLabels: Record<string, [labels: Record<string, string>, reason: RegExp][]> = {
    'ssh-config': [
      [{ 'ssh.proxyjump': '-oProxyCommand=x' }, /label ssh\.proxyjump that is not \[USER@\]HOST/],
      [{ 'ssh.proxyjump': 'a b' }, /ssh\.proxyjump/],
      [{ 'ssh.proxyjump': '' }, /ssh\.proxyjump/],
      [{ 'ssh.proxyjump': 'a:65536' }, /ssh\.proxyjump/],
      [{ 'ssh.identityfile': '%d/x' }, /label ssh\.identityfile that holds "%"/],
      [{ 'ssh.identityfile': '' }, /label ssh\.identityfile that is empty/],
      ...keysElsewhere,
    ],
    ansible: [[{ 'a.b': '', 'a-b': '' }, /same variable/], ...keysElsewhere],
    'ansible-json': [[{ 'a.b': '', 'a-b': '' }, /same variable/], ...keysElsewhere],
    'prometheus-sd': [[{ 'a.b': '', 'a-b': '' }, /same label to Prometheus/]],
    'pg-service': [
      [{ 'pg.dbname': '' }, /pg\.dbname that is empty/],
      [{ 'pg.dbname': 'a ' }, /white space/],
      [{ 'pg.dbname': '\u{1f5c4}'.repeat(255) }, /too long/],
      [{ 'pg.sslmode': 'on' }, /pg\.sslmode that is none of disable, allow/],
    ],
  }
  for (const [format, some] of Object.entries(badLabels)) {
    it(`names a record with a label that ${format} cannot express`, async () => {
      const records = recordsOf(some.map(([labels], i) => draft(`n${i}`, { labels })))
      const { obstacles, names } = await exported(format, records)
      assert.deepEqual(names, [])
      for (const [i, [, reason]] of some.entries()) assert.match(obstacles[`n${i}`] ?? '', reason)
    })
  }

  const groupsLeftOut = (...labels: string[]) => {
    const records = recordsOf(labels.map((group, i) => draft(`a${i}`, { labels: { group } })))
    const summary = runAtOnce(summarizeExport(exportFormats.ansible, { records, hasLabels: true }, 1))
    assert.equal(summary.leftOut, 0)
    return [[...exportPieces(records, summary)].join(''), summary.tail?.leftOutGroups] as const
  }

  it('writes every group that ansible takes, and one with the name of a host', () => {
    const [text, leftOut] = groupsLeftOut('k3s-cluster,eu.west', '1st_floor,a b', 'all,a0')
    assert.deepEqual(leftOut, [])
    for (const group of ['k3s-cluster', 'eu.west', '1st_floor', 'a b', 'a0'])
      assert.ok(text.includes(`\n    "${group}":\n      hosts:\n`), text)
  })

  it('leaves out of ansible a group by which playbooks mean the machine they run on', () => {
    const [text, leftOut] = groupsLeftOut('localhost,web', '127.0.0.1', '::1,LOCALHOST')
    assert.deepEqual(leftOut, ['localhost', '127.0.0.1', '::1', 'LOCALHOST'])
    assert.match(text, /children:\n {4}"web":\n {6}hosts:\n {8}"a0": \{\}\n$/)
  })

  it('leaves out of ansible-json a group with the name of a host, whose hosts stay', () => {
    const records = recordsOf([
      draft('a', { labels: { group: 'b' } }),
      draft('b', { labels: { group: 'b,web' } }),
      draft('c'),
    ])
    const work = summarizeExport(exportFormats['ansible-json'], { records, hasLabels: true }, 1)
    const summary = runAtOnce(work)
    assert.deepEqual([summary.leftOut, summary.tail?.leftOutGroups], [0, ['b']])
    const text = [...exportPieces(records, summary)].join('')
    assert.equal(Buffer.byteLength(text), summary.bytes)
    const { all, web, ungrouped } = JSON.parse(text)
    assert.deepEqual(all, { children: ['ungrouped', 'web'] })
    assert.deepEqual([web.hosts, ungrouped.hosts], [['b'], ['c', 'a']])
  })

  it('finds the hosts without a group in ansible-json, however few there are', () => {
    const drafts = Array.from({ length: 3_000 }, (_, i) =>
      i % 1_400 === 1_399 ? draft(`a${i}`) : draft(`a${i}`, { labels: { group: 'web' } }),
    )
    const records = recordsOf(drafts)
    const summary = runAtOnce(summarizeExport(exportFormats['ansible-json'], { records, hasLabels: true }, 1))
    const text = [...exportPieces(records, summary)].join('')
    assert.equal(Buffer.byteLength(text), summary.bytes)
    const { web, ungrouped } = JSON.parse(text)
    assert.deepEqual([web.hosts.length, ungrouped.hosts], [2_998, ['a1399', 'a2799']])
  })

  it('leaves out groups that ansible cannot have, and more than 16 of a record, but no host', () => {
    const template = "{{ lookup('pipe'.split()) }}"
    const [text, leftOut] = groupsLeftOut(
      `web,ungrouped,${template}`,
      '_meta',
      groups(ANSIBLE_GROUPS_MAX + 1),
    )
    // Ansible would run the template wherever it looks at the groups of a host.
    assert.deepEqual(leftOut, ['ungrouped', template, '_meta', `g${ANSIBLE_GROUPS_MAX}`])
    assert.ok(!text.includes('{{'))
    assert.equal(text.match(/"a2": \{\}/g)?.length, ANSIBLE_GROUPS_MAX)
    assert.equal(text.match(/ansible_host/g)?.length, 3)
    const many = Array.from({ length: 10 }, (_, i) => groups(100).replaceAll('g', `g${i}-`).slice(0, 255))
    assert.equal(groupsLeftOut(...many)[1]?.length, 20)
  })

  it('estimates the memory of its notes: the hosts of groups, and keys that clash', () => {
    const notedBytes = (format: ExportFormatName, count: number) => {
      const drafts = Array.from({ length: count }, (_, i) => draft(`a${i % 2 ? '-' : '_'}${i >> 1}`))
      const records = recordsOf(drafts.map((each) => ({ ...each, labels: { group: groups(4) } })))
      return runAtOnce(summarizeExport(exportFormats[format], { records, hasLabels: true }, 1)).notedBytes
    }
    assert.equal(notedBytes('csv', 100), 0)
    assert.ok(notedBytes('ansible', 100) >= 4 * 100 * 8)
    assert.ok(notedBytes('ansible', 200) - notedBytes('ansible', 100) >= 4 * 100 * 8)
    assert.ok(notedBytes('env', 100) >= 50 * 'CONNBOOK_A_1'.length)
  })

  const noted = (format: ExportFormatName, drafts: readonly NewConfiguration[], notedMax?: number) =>
    runAtOnce(
      summarizeExport(exportFormats[format], { records: recordsOf(drafts), hasLabels: true }, 1, notedMax),
    ).notedBytes

  it('notes nearly nothing of records that it only has to list', () => {
    const plain = Array.from({ length: 4_000 }, (_, i) => draft(`host-${i}`))
    const bastion = draft('bastion')
    const behind = plain.map((each) => ({ ...each, labels: { 'ssh.proxyjump': 'bastion' } }))
    const apart = plain.map((each, i) => ({ ...each, hostname: `h${i}.example` }))
    assert.ok(noted('ansible', apart, 16 * apart.length) < 0.5 * apart.length)
    for (const format of ['ansible-json', 'env', 'hosts', 'ssh-config'] as const) {
      assert.ok(noted(format, plain) < 0.5 * plain.length, format)
      // While it is prepared, too.
      assert.ok(noted(format, [bastion, ...behind], 16 * plain.length) < 0.5 * plain.length, format)
    }
  })

  it('notes nothing of keys that are names, which no other record has', () => {
    const plain = Array.from({ length: 4_000 }, (_, i) => draft(`host-${i}`))
    assert.equal(noted('hosts', plain, 0), 0)
    assert.throws(() => noted('hosts', [...plain, draft('Host')], 0), { code: 'answer_too_large' })
  })

  it('is refused while it is prepared, when its notes take more than they may', () => {
    const grouped = Array.from({ length: 1_000 }, (_, i) => draft(`a${i}`, { labels: { group: groups(4) } }))
    const equal = Array.from({ length: 1_000 }, (_, i) => draft(`a${i % 2 ? '-' : '_'}${i >> 1}`))
    const paired = Array.from({ length: 1_000 }, (_, i) => draft(`a${i}`, { port: 1 + (i >> 1) }))
    const chained = Array.from({ length: 1_000 }, (_, i) =>
      draft(`a${i}`, { labels: { 'ssh.proxyjump': `a${i + 1}` } }),
    )
    for (const [format, drafts] of [
      ['ansible', grouped],
      ['ansible-json', grouped],
      ['ansible', paired],
      ['env', equal],
      ['ssh-config', chained],
    ] as const) {
      assert.ok(noted(format, drafts) > 20_000, format)
      assert.throws(() => noted(format, drafts, 20_000), {
        code: 'answer_too_large',
        message: /^Cannot prepare the export: .* narrow the filters, or give connbook more memory$/,
      })
    }
  })

  it('lists the hosts of groups in pieces of about 64 KiB', () => {
    const records = recordsOf(
      Array.from({ length: 6_000 }, (_, i) => draft(`a${i}`, { labels: { group: `g${i % 3}` } })),
    )
    const summary = runAtOnce(summarizeExport(exportFormats.ansible, { records, hasLabels: true }, 1))
    const pieces = [...exportPieces(records, summary)]
    assert.equal(Buffer.byteLength(pieces.join('')), summary.bytes)
    for (const piece of pieces)
      assert.ok(piece.length < STREAM_PIECE_CHARACTERS + 1_000, `${piece.length} characters`)
  })

  const obstacles: Record<string, Record<string, RegExp>> = {
    'ssh-config': {
      '-x': /begins with "-"/,
      'a*': /pattern/,
      'a?': /pattern/,
      '!a': /pattern/,
      'a@b': /"@"/,
      'SSH://a': /URI/,
      'a b': /a space/,
      "a'b": /character of the shell/,
      'a,b': /comma/,
    },
    ansible: {
      'a[1:3]': /range/,
      'a:22': /port/,
      all: /group/,
      ungrouped: /group/,
      '{{ x }}': /template/,
      '{% x %}': /template/,
      '{# x #}': /template/,
    },
    'pg-service': { 'a]b': /"]"/, ['\u{1f5c4}'.repeat(255)]: /too long/ },
    env: {
      日本: /without a letter/,
      admin: /which connbook itself reads/,
      'a-b': /would be CONNBOOK_A_B like another/,
      'A b': /would be/,
    },
  }
  for (const [format, names] of Object.entries(obstacles)) {
    it(`names what ${format} cannot express, and writes the rest`, async () => {
      const records = named('before', ...Object.keys(names), 'behind')
      const found = await exported(format, records)
      assert.deepEqual(Object.keys(found.obstacles), Object.keys(names))
      for (const [name, reason] of Object.entries(names)) assert.match(found.obstacles[name] ?? '', reason)
      assert.deepEqual(found.names, ['before', 'behind'])
      const rest = records.filter(({ name }) => found.names.includes(name))
      assert.equal(found.text, (await exported(format, rest)).text)
    })
  }

  const usernames: Record<string, readonly string[]> = {
    'ssh-config': ['50%', '$' + '{USER}'],
    'pg-service': ['ops ', '\u{1f5c4}'.repeat(255)],
  }
  for (const [format, some] of Object.entries(usernames)) {
    it(`names a record with a username that ${format} cannot express`, async () => {
      const records = recordsOf(some.map((username, i) => draft(`n${i}`, { username })))
      const { obstacles, names } = await exported(format, records)
      assert.deepEqual(names, [])
      for (const reason of Object.values(obstacles)) assert.match(reason, /^has a username /)
    })
  }
})
