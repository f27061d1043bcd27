const SECRET = /token|secret|passw|credential|private|api_?key|access_?key/i;

/** True for what a variable is called when it holds something that must not be stored. */
export function isSecretName(variable: string): boolean {
  return SECRET.test(variable);
}
