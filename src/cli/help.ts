import { optionsHelp } from './options.ts'

/** What `connbook help` says. */
export function help(): string {
  return `connbook keeps named connection configurations and serves them over HTTP

  connbook [serve] [FLAGS]       start the server
  connbook user add NAME         add a user; asks for the password, or reads it
  connbook user passwd NAME      change a password; ends the user's sessions
  connbook user remove NAME
  connbook user list
  connbook client add ID         add a client for scripts; shows its secret once
  connbook client rotate ID      give a client a new secret; ends its tokens
  connbook client remove ID
  connbook client list
  connbook keys rotate           sign with a new key; sessions and tokens stay good
  connbook keys revoke-all       end every session and token at once
  connbook keys list             tell which keys there are, and until when they verify
  connbook backup FILE           keep records and accounts in one file; - is standard output
  connbook restore FILE          put a backup in the place of what the folder holds
  connbook check [FILE]          tell what the folder, or a backup, holds, and whether it is sound
  connbook export --format FORMAT
                                 write all records for another tool
  connbook import FILE           add and modify records, all or none; - is standard input
  connbook help | --help
  connbook --version

These commands take --data. All but restore and import work while the server runs, and while it
does not.

user add and client add also take:
${optionsHelp(['readOnly'])}

export also takes:
${optionsHelp(['format', 'skip'])}

import, which needs the server stopped, also takes --format json, csv or ssh-config, and:
${optionsHelp(['mode', 'dryRun'])}

Flags, and the variables that they beat:
${optionsHelp()}

CONNBOOK_ADMIN_USERNAME, CONNBOOK_ADMIN_PASSWORD, CONNBOOK_CLIENT_ID and
CONNBOOK_CLIENT_SECRET set the credentials of a first start; with _FILE behind
its name, each is read from a file.

A TIME is a number and a unit: 90s, 15m, 12h, 30d.

Exit codes: 0 stopped as asked, 1 something else went wrong, 2 not understood,
65 damaged data, 75 the data folder is in use.
`
}
