/**
 * Settings of TLS; their paths are those of the original, below `network.ssl`.
 * Tested by member/config.spec.ts.
 */
import {
  booleanSetting,
  type Flag,
  pathRule,
  type Reloadable,
  reloadable,
  type Setting,
  textSetting,
  type ValuesOf,
  wordSetting,
} from '../config/setting.ts';
import type { SettingRows } from '../config/setting-table.ts';
import type { TlsFiles } from '../http/tls-files.ts';

export const TLS_SETTINGS = {
  tlsEnabled: booleanSetting({
    path: 'network.ssl.enabled',
    about:
      'Whether the member serves TLS, with the files of network.ssl.properties; --tls-certificate also enables it',
    fallback: false,
  }),
  tlsCertificate: tlsSetting({
    path: 'network.ssl.properties.keyCertChainFile',
    flag: { name: '--tls-certificate', argument: 'FILE', implies: { tlsEnabled: 'true' } },
    about: 'Certificate for TLS, followed by those of its authority, in PEM form',
  }),
  tlsKey: tlsSetting({
    path: 'network.ssl.properties.keyFile',
    flag: { name: '--tls-key', argument: 'FILE' },
    about: 'Private key of the certificate, in PEM form',
  }),
  tlsKeyPassword: tlsSetting({
    path: 'network.ssl.properties.keyPassword',
    isSecret: true,
    about: 'Passphrase of the private key',
    expects: 'a text',
  }),
  tlsKeyStore: tlsSetting({
    path: 'network.ssl.properties.keyStore',
    about: 'Certificate and key in one PKCS12 file, instead of PEM files',
  }),
  tlsKeyStorePassword: tlsSetting({
    path: 'network.ssl.properties.keyStorePassword',
    isSecret: true,
    about: 'Password of the PKCS12 file',
    expects: 'a text',
  }),
  tlsClientCa: tlsSetting({
    path: 'network.ssl.properties.trustCertCollectionFile',
    flag: {
      name: '--tls-client-ca',
      argument: 'FILE',
      implies: { tlsMutualAuthentication: 'REQUIRED' },
    },
    about: 'Authorities, in PEM form; clients without a certificate from one of them are refused',
  }),
  tlsMutualAuthentication: wordSetting<string>({
    path: 'network.ssl.properties.mutualAuthentication',
    about:
      'REQUIRED: clients need a certificate from an authority in trustCertCollectionFile; OPTIONAL is the same as NONE; ' +
      '--tls-client-ca sets REQUIRED',
    fallback: 'NONE',
    expects: 'one of NONE, OPTIONAL, REQUIRED',
    read: (text) => /^(NONE|OPTIONAL|REQUIRED)$/i.exec(text)?.[0].toUpperCase(),
  }),
} as const satisfies SettingRows;

export type TlsConfig = ValuesOf<typeof TLS_SETTINGS>;

/** Returns the files that the settings name. */
export function tlsFilesOf(config: TlsConfig): TlsFiles {
  return {
    authorities: config.tlsClientCa,
    certificate: config.tlsCertificate,
    key: config.tlsKey,
    keyPassword: config.tlsKeyPassword,
    keyStore: config.tlsKeyStore,
    keyStorePassword: config.tlsKeyStorePassword,
  };
}

/** Returns the setting of a file that TLS needs, or of its password; a reload reads both again. */
function tlsSetting(row: {
  readonly path: string;
  readonly flag?: Flag;
  readonly about: string;
  readonly isSecret?: true;
  readonly expects?: string;
}): Reloadable<Setting<string | undefined>> {
  const setting = textSetting({
    ...pathRule,
    ...row,
    fallback: undefined,
    fallbackText: 'none',
    example: 'path/to/file',
  });
  return reloadable(setting);
}
