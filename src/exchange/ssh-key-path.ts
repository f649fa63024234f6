/** Why no file may have a key's path, to complete "a value that …". */
export function faultOfKeyPath(value: string): string | undefined {
  if (value === '') return 'is empty'
  if (/%|\$\{/.test(value)) return 'holds "%" or "${", which ssh may expand'
  // Windows sends the reader's name and a hash of the password to such a host, as soon as ssh looks for the file.
  if (/\\|^\/\//.test(value))
    return 'holds a backslash or begins with "//", which Windows may take for another host'
  return undefined
}
