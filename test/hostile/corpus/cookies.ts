import { forgeTokens } from '../forged-tokens.ts'
import { deletion, list, sender } from '../requests.ts'
import { type HostileRow, type Loot, prefixed, rows } from '../row.ts'

/** Session cookies: forged, ended, repeated, or in an unusual form. */
export function cookieRows({ bearer, cookie, endedCookie }: Loot): HostileRow[] {
  const [name = '', session = ''] = cookie.split('=', 2)
  const token = bearer.slice('Bearer '.length)
  const deletions = (...values: string[]) =>
    Object.fromEntries(values.map((value) => [value, deletion({ Cookie: value })]))
  const reads = (...values: string[]) =>
    Object.fromEntries(
      values.map((value) => [`read with ${value}`, sender({ Cookie: value })(`GET ${list}`)]),
    )
  const others = (count: number) => Array.from({ length: count }, (_, i) => `a${i}=b`).join('; ')

  return [
    ...rows(
      prefixed(
        'session: ',
        Object.fromEntries(
          Object.entries(forgeTokens(session, 'api')).map(([forgery, text]) => [
            forgery,
            deletion({ Cookie: `${name}=${text}` }),
          ]),
        ),
      ),
      403,
    ),
    ...rows(
      deletions(
        '',
        ';',
        '=',
        '; ; ;',
        name,
        `${name}=`,
        `${name}==`,
        `${name}=;`,
        `=${session}`,
        session,
        `${name}:${session}`,

        `${name}=${token}`,
        `${name}=Bearer ${session}`,
        `${name}=Bearer ${token}`,
        `${name}="${session}"`,
        `${name}='${session}'`,

        `"${name}"=${session}`,
        `${name}="${session}`,
        `${name}=${session},`,
        `${name}=${session}, a=b`,
        `a=b, ${name}=${session}`,

        `a=b,${name}=${session}`,
        `a=b ${name}=${session}`,
        `a=b&${name}=${session}`,
        `x${name}=${session}`,
        `${name}x=${session}`,

        `${name.toUpperCase()}=${session}`,
        `Connbook_Session=${session}`,
        `__Host-${name}=${session}`,
        `__Secure-${name}=${session}`,

        `${name}[]=${session}`,
        `${name}[0]=${session}`,
        `${name}%20=${session}`,
        `%63onnbook_session=${session}`,

        `$Version=1, ${name}=${session}`,
        `${name}=${session}%00`,
        `${name}=%${session}`,
        `${name}=${session}x`,
        `${name}=${session}\xff`,

        `\xff${name}=${session}`,
        `${name}=${session.slice(0, -1)}`,
        `${name}=j:{"admin":true}`,

        `${name}=deleted`,
        `${name}=null`,
        `${name}=__proto__`,
        `__proto__=${session}`,
        `constructor=${session}`,
        `a="; ${name}=x"`,
        `${`${name}=x; `.repeat(8)}${name}=${session}`,
        `${name}=x;`.repeat(500),
      ),
      403,
    ),
    ...rows(
      {
        'an ended session': deletion({ Cookie: endedCookie }),
        'in Cookie2': deletion({ Cookie2: cookie }),
        'in Set-Cookie': deletion({ 'Set-Cookie': cookie }),
        'in X-Cookie': deletion({ 'X-Cookie': cookie }),
        '1,500 others': deletion({ Cookie: others(1_500) }),
        'one of 15,000 bytes': deletion({ Cookie: `${name}=${'x'.repeat(15_000)}` }),
        '7,000 separators': deletion({ Cookie: ';='.repeat(7_000) }),
      },
      403,
    ),
    ...rows(
      {
        'a NUL within the name': deletion({ Cookie: `connbook\0_session=${session}` }),
        'a NUL behind the value': deletion({ Cookie: `${cookie}\0` }),
        'a line end within the value': deletion({
          Cookie: `${name}=${session.slice(0, 9)}\r\n ${session.slice(9)}`,
        }),
        'bare LF before it': deletion({ Cookie: `a=b\nCookie: ${cookie}` }),
        'bare CR before it': deletion({ Cookie: `a=b\rCookie: ${cookie}` }),
      },
      400,
    ),
    ...rows({ 'too many for the header': deletion({ Cookie: `${others(3_000)}; ${cookie}` }) }, 431),
    // Up to eight of the name are tried; white space around a name or a value is ignored.
    ...rows(
      reads(
        `${cookie}; ${name}=x`,
        `${cookie}\r\nCookie: ${name}=x`,
        `a=b\r\nCookie: ${cookie}`,
        `${name}=x; ${cookie}`,
        `${name}=; ${cookie}`,
        `${name}=x\r\nCookie: ${cookie}`,
        `${name}=\r\ncookie: ${cookie}`,
        `${`${name}=x;`.repeat(7)}${cookie}`,
        `${cookie};`,
        `;;${cookie};;`,
        `a; b=; =c; ${cookie}`,
        `a="b;${cookie}`,
        `$Version=1; ${cookie}; $Path=/`,
        ` ${name} = ${session} `,
        `__proto__=x; ${cookie}`,
      ),
      200,
    ),
    ...rows({ 'the last of 1,000': sender({ Cookie: `${others(1_000)}; ${cookie}` })(`GET ${list}`) }, 200),
    // Browsers protect only names that begin with a prefix; other white space before the prefix must not be ignored.
    ...rows(
      {
        'a no-break space before the name': sender({ Cookie: `\xa0${cookie}` })(`GET ${list}`),
        'a no-break space behind the name': sender({ Cookie: `${name}\xa0=${session}` })(`GET ${list}`),
        'a no-break space before the value': sender({ Cookie: `${name}=\xa0${session}` })(`GET ${list}`),
        'a no-break space behind the value': sender({ Cookie: `${cookie}\xa0` })(`GET ${list}`),
      },
      403,
    ),
  ]
}
