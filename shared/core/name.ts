/** Whether a text can name something: no control characters, which no log shows, and no half of a surrogate pair. */
export function isName(text: string, maxCharacters: number): boolean {
  // A character is a code point here, at most two code units.
  const isLong = text.length > 2 * maxCharacters || [...text].length > maxCharacters
  return text.length > 0 && !isLong && text.isWellFormed() && !/\p{Cc}/u.test(text)
}
