import { createHmac } from 'node:crypto'

/** What can be made of a good token without its key. */
export function forgeTokens(token: string): Record<string, string> {
  const [header = '', payload = '', mac = ''] = token.split('.')
  const decode = (text: string) =>
    JSON.parse(Buffer.from(text, 'base64url').toString()) as Record<string, unknown>
  const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const withHeader = (changes: object) => encode({ ...decode(header), ...changes })
  const withClaims = (changes: object) => encode({ ...decode(payload), ...changes })
  const sign = (signed: string, key: string) =>
    `${signed}.${createHmac('sha256', key).update(signed).digest('base64url')}`
  const lastLetter = mac.at(-1) ?? ''
  // The last letter of 32 bytes in base64url has bits to spare: its neighbours decode to the same bytes.
  const twin = String.fromCharCode(lastLetter.charCodeAt(0) + 1)
  return {
    'alg none': `${withHeader({ alg: 'none' })}.${payload}.`,
    'alg None with the MAC': `${withHeader({ alg: 'None' })}.${payload}.${mac}`,
    'alg HS512': `${withHeader({ alg: 'HS512' })}.${payload}.${mac}`,
    'another key id': `${withHeader({ kid: 'x' })}.${payload}.${mac}`,
    'a path as key id': sign(`${withHeader({ kid: '/dev/null' })}.${payload}`, ''),
    'no key id': `${withHeader({ kid: undefined })}.${payload}.${mac}`,
    'a key of its own': `${withHeader({ jwk: { kty: 'oct', k: '' } })}.${payload}.${mac}`,
    'signed with nothing': sign(`${header}.${payload}`, ''),
    'signed with a guess': sign(`${header}.${payload}`, 'secret'),
    'audience swapped': `${header}.${withClaims({ aud: 'session' })}.${mac}`,
    'another subject': `${header}.${withClaims({ sub: 'admin' })}.${mac}`,
    'a longer life': `${header}.${withClaims({ exp: 9e12 })}.${mac}`,
    'no end': `${header}.${withClaims({ exp: undefined })}.${mac}`,
    'MAC cut': token.slice(0, -1),
    'MAC cut to nothing': `${header}.${payload}.`,
    'MAC missing': `${header}.${payload}`,
    'MAC with another last letter of the same meaning': token.slice(0, -1) + twin,
    'MAC in plain base64': `${header}.${payload}.${Buffer.from(mac, 'base64url').toString('base64')}`,
    'MAC in hex': `${header}.${payload}.${Buffer.from(mac, 'base64url').toString('hex')}`,
    'MAC padded': `${token}=`,
    'parts swapped': `${payload}.${header}.${mac}`,
    'a fourth part': `${token}.x`,
    'only dots': '..',
    'an empty object': `${encode({})}.${encode({})}.${encode({})}`,
    'a member of every object': '__proto__',
    'very long': `${header}.${'x'.repeat(8000)}.${mac}`,
  }
}
