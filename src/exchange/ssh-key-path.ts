/** Why no file may have a key's path, to complete "a value that …". */
export function faultOfKeyPath(value: string): string | undefined {
  if (value === '') return 'is empty'
  return /%|\$\{/.test(value) ? 'holds "%" or "${", which ssh may expand' : undefined
}
