import { deletion, idlePatch, list, nobody, sender, victim } from '../requests.ts'
import { entriesFrom, type HostileRow, type Loot, rows } from '../row.ts'

/** Preconditions (RFC 9110 section 13) that are false or malformed. */
export function conditionRows({ bearer, etag }: Loot): HostileRow[] {
  const send = sender({ Authorization: bearer })
  const deletions = (...values: string[]) =>
    entriesFrom(values, (value) => deletion({ Authorization: bearer, 'If-Match': value }), 'If-Match: ')
  const patches = (...values: string[]) =>
    entriesFrom(values, (value) => send(`PATCH ${victim}`, { 'If-Match': value }, idlePatch), 'If-Match: ')
  const reads = (...values: string[]) =>
    entriesFrom(values, (value) => send(`GET ${victim}`, { 'If-None-Match': value }), 'If-None-Match: ')
  const put = (path: string, fields: Record<string, string>) =>
    send(`PUT ${path}`, fields, '{"hostname":"other","port":2,"username":"u"}')
  const replacement = (fields: Record<string, string>) =>
    send(
      'POST /v1/import?format=csv&mode=replace',
      { 'Content-Type': 'text/csv', ...fields },
      'name,hostname,port,username\n',
    )
  const bare = etag.slice(1, -1)

  return [
    ...rows(
      deletions(
        '""',
        '"x"',
        'W/"x"',
        `W/${etag}`,
        `"${bare}x"`,
        `"x${bare}"`,
        '"*"',
        '"a", "b", W/"c"',
        '"a" , , ,"b",',
        '"\xff"',
        '"__proto__"',
        '"x",'.repeat(3_000),
        `"${'x'.repeat(15_000)}"`,
      ),
      412,
    ),
    ...rows(
      deletions(
        '',
        'x',
        '"',
        '"x',
        'x"',
        "'x'",
        'W/',
        'w/"x"',
        `w/"${bare}`,
        `"${bare}`,
        `${bare}"`,

        bare,
        `'${bare}'`,
        `"${bare} "`,
        `" ${bare}"`,
        `"\\"${bare}\\""`,
        `xx${etag}yy`,
        `${etag}, *`,

        '**',
        "'*'",
        '*x',
        '*;q=1',
        ',,,',
        '"a b"',
        '__proto__',
        `"x${etag}`,
        'W/"',
        'W/W/"x"',
        '0',
        'null',
        '"'.repeat(15_000),
        'W/'.repeat(7_000),
        `${etag}${' '.repeat(15_000)}x`,
        `${','.repeat(15_000)}x`,
      ),
      400,
    ),
    ...rows(
      {
        'If-Match twice, neither matching': deletion({
          Authorization: bearer,
          'If-Match': '"a"\r\nIf-Match: "b"',
        }),
        'If-Match of the list': deletion({ Authorization: bearer, 'If-Match': '"00000000-1"' }),
      },
      412,
    ),
    ...rows(patches('*', ' * ', etag, `"x", ${etag}`, `${etag}, "x"`, `W/"x",${etag}`, `,, ${etag} ,,`), 200),
    ...rows(
      {
        'If-Match twice, one matching': send(
          `PATCH ${victim}`,
          { 'If-Match': `"a"\r\nIf-Match: ${etag}` },
          idlePatch,
        ),
        'If-Unmodified-Since, which is not supported': send(
          `PATCH ${victim}`,
          { 'If-Unmodified-Since': 'Thu, 01 Jan 1970 00:00:00 GMT', 'If-Modified-Since': 'x' },
          idlePatch,
        ),
      },
      200,
    ),
    ...rows(
      {
        'If-None-Match of a deletion, without quotes': deletion({
          Authorization: bearer,
          'If-None-Match': bare,
        }),
        'If-None-Match of a replacement, without quotes': put(victim, { 'If-None-Match': bare }),
        'If-None-Match of a replacement, a tag and on another line *': put(victim, {
          'If-None-Match': '"x"\r\nIf-None-Match: *',
        }),
        'an empty If-Match where nothing is': put(nobody, { 'If-Match': '' }),
        'an empty If-Match of an import': replacement({ 'If-Match': '' }),
        'If-Match of an import, without quotes': replacement({ 'If-Match': bare }),
        'If-Match: * behind a no-break space': send(`PATCH ${victim}`, { 'If-Match': '\xa0*' }, idlePatch),
        'If-Match with a NUL': deletion({ Authorization: bearer, 'If-Match': '"\0"' }),
        'If-Match on two lines': deletion({ Authorization: bearer, 'If-Match': '"a",\r\n "b"' }),
        'If-None-Match with a NUL': send(`GET ${victim}`, { 'If-None-Match': '"\0"' }),
      },
      400,
    ),
    ...rows(
      {
        'If-Match: * on a missing record': send(`DELETE ${nobody}`, { 'If-Match': '*' }),
        'If-None-Match: * on a missing record': send(`GET ${nobody}`, { 'If-None-Match': '*' }),
      },
      404,
    ),
    ...rows(
      {
        'If-Match without a credential': deletion({ 'If-Match': '"x"' }),
        'If-None-Match without a credential': sender({})(`GET ${victim}`, { 'If-None-Match': etag }),
      },
      403,
    ),
    ...rows(reads('*', etag, `W/${etag}`, `"x", W/"y", ${etag}`, `"x",,,${etag},`), 304),
    ...rows(
      reads(
        '',
        '""',
        '"x"',
        'x',
        `x, ${etag}`,
        '"',
        bare,
        `"${bare}`,
        `"${bare}x"`,
        `w/"x"`,
        '"*"',
        '**',
        '"x",'.repeat(3_000),
        '"\xff"',
        'null',
      ),
      200,
    ),
    ...rows({ 'If-None-Match: * of the list': send(`GET ${list}`, { 'If-None-Match': '*' }) }, 304),
    ...rows({ 'If-None-Match: * of health': send('GET /healthz', { 'If-None-Match': '*' }) }, [200, 304]),
    // A false condition forbids any method (RFC 9110 sections 13.1.1 and 13.1.2).
    ...rows(
      {
        'If-None-Match: * of a modification': send(`PATCH ${victim}`, { 'If-None-Match': '*' }, idlePatch),
        'If-None-Match of a modification': send(`PATCH ${victim}`, { 'If-None-Match': etag }, idlePatch),
        'If-None-Match: * of a replacement': put(victim, { 'If-None-Match': '*' }),
        'If-None-Match of a replacement': put(victim, { 'If-None-Match': `W/${etag}` }),
        'If-Match of a replacement': put(victim, { 'If-Match': `W/${etag}` }),
        'both conditions of a replacement': put(victim, { 'If-Match': etag, 'If-None-Match': '*' }),
        'If-Match: * where nothing is': put(nobody, { 'If-Match': '*' }),
        'If-Match where nothing is': put(nobody, { 'If-Match': etag, 'If-None-Match': '*' }),
        'If-Match of a read': send(`GET ${victim}`, { 'If-Match': '"x"' }),
        'If-Match of an import that would remove everything': replacement({ 'If-Match': '"00000000-1"' }),
        'If-Match of an import, with the tag of a record': replacement({ 'If-Match': etag }),
        'If-None-Match: * of an import': replacement({ 'If-None-Match': '*' }),
        'both conditions of an import': replacement({ 'If-Match': '*', 'If-None-Match': '*' }),
      },
      412,
    ),
  ]
}
