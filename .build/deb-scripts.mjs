/** The service that the scripts enable, start and stop. */
export const unitName = 'connbook.service'

/** /etc/default/connbook, which the service reads as variables. */
export const defaults = `# Options of the service connbook: a variable for each flag of the server, as
# "connbook help options" lists them. Then: systemctl restart connbook
#
# A port below 1024, and the key of a certificate, need a unit of your own:
# connbook systemd --port 443 --tls-cert … --tls-key … > /etc/systemd/system/connbook.service

# Without this, every host on the network can reach connbook, without HTTPS.
CONNBOOK_HOST=127.0.0.1
# CONNBOOK_PORT=8080
# CONNBOOK_ACCESS_LOG=true
`

const AFTER_INSTALL = `#!/bin/sh
set -e
# Also after a removal or an upgrade that failed: prerm has stopped the service.
case "$1" in
configure | abort-upgrade | abort-deconfigure | abort-remove)
  deb-systemd-helper unmask ${unitName} > /dev/null
  # Somebody who has disabled the service keeps it so.
  if deb-systemd-helper --quiet was-enabled ${unitName}; then
    deb-systemd-helper enable ${unitName} > /dev/null
  else
    deb-systemd-helper update-state ${unitName} > /dev/null
  fi
  if [ -d /run/systemd/system ]; then
    systemctl --system daemon-reload || true
    # An upgrade restarts it, a first installation starts it; policy-rc.d may say no.
    if [ -n "$2" ]; then action=restart; else action=start; fi
    deb-systemd-invoke "$action" ${unitName} || true
  fi
  ;;
esac
`

const BEFORE_REMOVAL = `#!/bin/sh
set -e
if [ "$1" = remove ] && [ -d /run/systemd/system ]; then
  deb-systemd-invoke stop ${unitName} || true
fi
`

const AFTER_REMOVAL = `#!/bin/sh
set -e
if [ "$1" = remove ] && [ -d /run/systemd/system ]; then
  systemctl --system daemon-reload || true
fi
if [ "$1" = purge ]; then
  if command -v deb-systemd-helper > /dev/null; then
    deb-systemd-helper purge ${unitName} > /dev/null
  fi
  if [ -e /var/lib/connbook ] || [ -e /var/lib/private/connbook ]; then
    echo 'connbook: The records stay in /var/lib/connbook; to delete them: rm -r /var/lib/connbook /var/lib/private/connbook'
  fi
fi
`

/** What dpkg runs, by its names (deb-postinst(5)). */
export const maintainerScripts = { postinst: AFTER_INSTALL, prerm: BEFORE_REMOVAL, postrm: AFTER_REMOVAL }
