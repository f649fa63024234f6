import { createHmac } from 'node:crypto'

/**
 * Forgeries that can be made from a valid token without its key.
 *
 * @param otherAudience The `aud` of the other kind of token.
 */
export function forgeTokens(token: string, otherAudience: 'session' | 'api'): Record<string, string> {
  const [header = '', payload = '', mac = ''] = token.split('.')
  const decode = (text: string) =>
    JSON.parse(Buffer.from(text, 'base64url').toString()) as Record<string, unknown>
  const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const withHeader = (changes: object) => `${encode({ ...decode(header), ...changes })}.${payload}`
  const withClaims = (changes: object) => `${header}.${encode({ ...decode(payload), ...changes })}.${mac}`
  const sign = (signed: string, key: string, algorithm = 'sha256') =>
    `${signed}.${createHmac(algorithm, key).update(signed).digest('base64url')}`
  const base64 = (text: string) => Buffer.from(text, 'base64url').toString('base64')
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
  /** The last base64url letter of 32 bytes has two unused bits, so the next letters decode to the same bytes. */
  const twin = (distance: number) =>
    token.slice(0, -1) + alphabet[alphabet.indexOf(mac.at(-1) ?? '') + distance]

  return {
    'alg none': `${withHeader({ alg: 'none' })}.`,
    'alg None with the MAC': `${withHeader({ alg: 'None' })}.${mac}`,
    'alg nOnE without the last dot': withHeader({ alg: 'nOnE' }),
    'alg null': `${withHeader({ alg: null })}.${mac}`,
    'alg left out': `${withHeader({ alg: undefined })}.${mac}`,
    'alg HS384': sign(withHeader({ alg: 'HS384' }), '', 'sha384'),
    'alg HS512': `${withHeader({ alg: 'HS512' })}.${mac}`,
    'alg RS256': `${withHeader({ alg: 'RS256' })}.${mac}`,
    'alg ES256 with zeros': `${withHeader({ alg: 'ES256' })}.${Buffer.alloc(64).toString('base64url')}`,
    'alg EdDSA': `${withHeader({ alg: 'EdDSA' })}.${mac}`,
    'alg in small letters': `${withHeader({ alg: 'hs256' })}.${mac}`,
    'another key id': `${withHeader({ kid: 'x' })}.${mac}`,
    'a path as key id': sign(withHeader({ kid: '/dev/null' }), ''),
    'a query as key id': sign(withHeader({ kid: "x' UNION SELECT '' --" }), ''),
    'a member of every object as key id': sign(withHeader({ kid: '__proto__' }), ''),
    'an array as key id': `${withHeader({ kid: [] })}.${mac}`,
    'no key id': `${withHeader({ kid: undefined })}.${mac}`,
    'a key of its own': sign(withHeader({ jwk: { kty: 'oct', k: '' } }), ''),
    'the address of a key': sign(withHeader({ jku: 'http://127.0.0.1/', x5u: 'http://127.0.0.1/' }), ''),
    'a critical extension': `${withHeader({ crit: ['b64'], b64: false })}.${mac}`,
    'another typ': `${withHeader({ typ: 'at+jwt' })}.${mac}`,
    'members of the header in another order': `${encode(Object.fromEntries(Object.entries(decode(header)).reverse()))}.${payload}.${mac}`,
    'header padded': `${header}=.${payload}.${mac}`,
    'payload padded': `${header}.${payload}=.${mac}`,
    'header in plain base64, written anew': `${base64(encode(decode(header)))} .${payload}.${mac}`,
    'claims with white space': `${header}.${Buffer.from(` ${JSON.stringify(decode(payload))}`).toString('base64url')}.${mac}`,
    'signed with nothing': sign(`${header}.${payload}`, ''),
    'signed with a guess': sign(`${header}.${payload}`, 'secret'),
    'signed with its own key id': sign(`${header}.${payload}`, String(decode(header).kid)),
    'signed with its header': sign(`${header}.${payload}`, header),
    'audience swapped': withClaims({ aud: otherAudience }),
    'both audiences': withClaims({ aud: ['session', 'api'] }),
    'no audience': withClaims({ aud: undefined }),
    'another issuer': withClaims({ iss: 'evil' }),
    'another subject': withClaims({ sub: 'root' }),
    'a longer life': withClaims({ exp: 9e12 }),
    'no end': withClaims({ exp: undefined }),
    'an end in words': withClaims({ exp: 'never' }),
    'another generation': withClaims({ gen: 99 }),
    'another id': withClaims({ jti: 'x' }),
    'a scope of its own': withClaims({ scope: 'admin' }),
    'MAC cut': token.slice(0, -1),
    'MAC cut to half': token.slice(0, -20),
    'MAC cut to nothing': `${header}.${payload}.`,
    'MAC missing': `${header}.${payload}`,
    'MAC longer': `${token}A`,
    'MAC twice': `${token}${mac}`,
    'MAC of zeros': `${header}.${payload}.${Buffer.alloc(32).toString('base64url')}`,
    'MAC with its first letter changed': `${header}.${payload}.${mac.startsWith('A') ? 'B' : 'A'}${mac.slice(1)}`,
    'MAC with another last letter of the same meaning': twin(1),
    'MAC with the last letter but one of the same meaning': twin(2),
    'MAC with the last of the letters of the same meaning': twin(3),
    'MAC in plain base64': `${header}.${payload}.${base64(mac)}`,
    'MAC in plain base64 without padding, and changed nowhere else': `${header}.${payload}.${mac.replaceAll('-', '+').replaceAll('_', '/')}`,
    'MAC in hex': `${header}.${payload}.${Buffer.from(mac, 'base64url').toString('hex')}`,
    'MAC padded': `${token}=`,
    'MAC with a letter percent-encoded': `${token.slice(0, -1)}%${mac.slice(-1).charCodeAt(0).toString(16)}`,
    'in small letters': token.toLowerCase(),
    'parts swapped': `${payload}.${header}.${mac}`,
    'an empty header': `.${payload}.${mac}`,
    'an empty payload': `${header}..${mac}`,
    'a fourth part': `${token}.x`,
    'two dots more': `${token}..`,
    'a dot before': `.${token}`,
    'two dots for one': token.replace('.', '..'),
    'a comma for a dot': token.replace('.', ','),
    'encrypted, by its five parts': `${header}..${payload}.${mac}.${mac}`,
    'only dots': '..',
    'an empty object': `${encode({})}.${encode({})}.${encode({})}`,
    'a member of every object': '__proto__',
    'a space within': `${token.slice(0, 30)} ${token.slice(30)}`,
    'very long': `${header}.${'x'.repeat(8_000)}.${mac}`,
    'many parts': `${header}.${'x.'.repeat(4_000)}${mac}`,
  }
}
