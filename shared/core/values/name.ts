/** Whether a text can be a name. A name has no control character, which logs do not show, and no half of a surrogate pair. */
export function isName(text: string, maxCharacters: number): boolean {
  // Characters are code points here. Each has at most two code units.
  const isLong = text.length > 2 * maxCharacters || [...text].length > maxCharacters
  return text.length > 0 && !isLong && text.isWellFormed() && !/\p{Cc}/u.test(text)
}
