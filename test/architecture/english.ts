/** The rules of English as functions of what the files say, so that each can be shown to fail on made-up text. */

/** Words for people. A process has a name: the worker, the planner, the caller, the handler, an operator. */
const PEOPLE = /(?<![\w`-])(who(?:ever|m)?|somebody|someone|nobody|anybody|anyone|he|his|him)(?![\w`-])/gi

/**
 * Turns of phrase that are translated word by word, and that a reader of English stumbles over. Each has a plain form: "is" or "shows" for
 * "stands", "says" for "tells", the noun again for "that of", "is not a" for "is no", "next to" or "besides" for "beside".
 */
const TRANSLATED: readonly RegExp[] = [
  /\bstands?\b(?!-)(?! (?:for|alone|in for)\b)/gi,
  /\b(?:told|tells?)\b/gi,
  /\b(?:that|those) of\b/gi,
  /(?<!\bthere )\b(?:is|are|was|were) no (?!longer\b|more\b|nextCursor|such\b)\w+/gi,
  /\bbeside\b/gi,
  /\b(?:goes|go|going|went|gone) on\b/gi,
  /\bneed be\b/gi,
  /\b(?:give|gives|gave|given) way\b/gi,
  /\bfor want of\b/gi,
  /\banother present (?:one|revision)\b/gi,
  /\bin the room of\b/gi,
  /\b(?:come|comes|came) to nothing\b/gi,
  /\b(?:is|are) had\b/gi,
  /\bseen to\b/gi,
  /\bis no help\b/gi,
  /\bso much \w+ than\b/gi,
  /\bhappen and happen\b/gi,
]

/** Names that were participles or half-words, where a noun or a verb says more. */
const HALF_NAMES =
  /\b(?:const|let|type|function|interface) (told|asked|meant|there|isThere|together|addedUp|standsBehind|giveWay|isAsked|\w*(?:Told|Asked|Meant|(?<!nder)Way))\b/g

/** A sentence that stops here goes on at the next constant. */
const UNFINISHED = /(?:,|\b(?:and|or|but|nor|because|that|which|while|when|where))$/i

/** The words for people that comments of a file of code, or a page of Markdown, speak. */
export function wordsForPeople(file: string, text: string): string[] {
  const prose = file.endsWith('.md') ? proseOf(text) : commentsOf(text).join('\n')
  return [...prose.matchAll(PEOPLE)].map(([word]) => word.toLowerCase())
}

/** The translated turns of phrase in the comments and texts of a file of code, or on a page of Markdown. */
export function translatedPhrases(file: string, text: string): string[] {
  const prose = file.endsWith('.md') ? withoutCode(proseOf(text)) : proseOfCode(text)
  return TRANSLATED.flatMap(phrase => [...prose.matchAll(phrase)].map(([found]) => found.toLowerCase()))
}

/** The names in a file of code that are neither a noun nor a verb. */
export function halfNames(text: string): string[] {
  return [...text.matchAll(HALF_NAMES)].map(([, name = '']) => name)
}

/** Doc comments that end in a comma or a conjunction, each by its last words. */
export function unfinishedComments(text: string): string[] {
  return docCommentsOf(text)
    .filter(comment => UNFINISHED.test(comment))
    .map(comment => comment.slice(-60))
}

/** Comments, and the texts that people read: a text with a space, such as a message, a title, a line of help, or a part of a page. */
function proseOfCode(text: string): string {
  const texts = [...text.matchAll(TOKEN)]
    .map(([token]) => token)
    .filter(token => /^['"`]/.test(token) && token.includes(' '))
  const parts = [...text.matchAll(PART_OF_PAGE)].map(([, part = '']) => part)
  return [...commentsOf(text), ...texts, ...parts].join('\n')
}

/** Text between two tags of JSX. */
const PART_OF_PAGE = />([^<>{}()=;]* [^<>{}()=;]*)</g

/** What each comment says, without its marks. Strings and templates are not comments. */
function commentsOf(text: string): string[] {
  return [...text.matchAll(TOKEN)]
    .map(([token]) => token)
    .filter(token => token.startsWith('//') || token.startsWith('/*'))
    .map(withoutMarks)
}

function docCommentsOf(text: string): string[] {
  return [...text.matchAll(TOKEN)]
    .map(([token]) => token)
    .filter(token => token.startsWith('/**'))
    .map(withoutMarks)
}

/** A string, a template without one inside it, or a comment: whichever begins first takes its text. */
const TOKEN = /'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|`(?:[^`\\]|\\.)*`|\/\/[^\n]*|\/\*[\s\S]*?\*\//g

function withoutMarks(comment: string): string {
  return comment
    .replace(/^\/\*+|\*\/$|^\/\//g, '')
    .split('\n')
    .map(line => line.replace(/^\s*\*? ?/, ''))
    .join(' ')
    .trim()
}

/** A page without code in its lines and without the addresses of its links, whose files keep their names. */
function withoutCode(page: string): string {
  return page.replaceAll(/`[^`\n]*`/g, '').replaceAll(/\]\([^)]*\)/g, ']')
}

/** A page without its blocks of code. */
function proseOf(page: string): string {
  return page.replaceAll(/^```[\s\S]*?^```/gm, '')
}
