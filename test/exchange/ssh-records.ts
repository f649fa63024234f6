import * as fc from 'fast-check'

const hostile = fc.string({
  unit: fc.constantFrom(...'-o@%$}{`"\'\\;&|()<> \n\t\u202eabP=:/[].,0'),
  maxLength: 12,
})
const options = fc.constantFrom(
  '-oProxyCommand=touch pwned',
  '-l',
  '--',
  '-o',
  '%h',
  '$HOME',
  '~',
  'none',
  'a b',
)
const oneOf = (usual: fc.Arbitrary<string>) =>
  fc.oneof(
    { weight: 6, arbitrary: usual },
    { weight: 1, arbitrary: hostile },
    { weight: 1, arbitrary: options },
  )
const hosts = fc.oneof(
  fc.domain(),
  fc.ipV4(),
  fc.ipV6(),
  fc.ipV6().map((address) => `[${address}]`),
)
/** Records, most of them sound, some hostile. */
export const sshRecords = fc.record({
  name: oneOf(fc.constant('web1')),
  hostname: oneOf(hosts),
  port: fc.oneof(
    { weight: 9, arbitrary: fc.integer({ min: 1, max: 65_535 }) },
    fc.constantFrom(0, -1, 1.5, 1e9),
  ),
  username: oneOf(fc.constantFrom('deploy', 'first.last', 'a b', 'é')),
  labels: fc.record(
    {
      'ssh.proxyjump': oneOf(fc.constantFrom('bastion', 'ops@jump:2222,b', 'none')),
      'ssh.identityfile': oneOf(fc.constantFrom('~/keys/a b', '-k', 'none')),
      env: oneOf(fc.constant('prod')),
    },
    { requiredKeys: [] },
  ),
})
