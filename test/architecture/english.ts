/** The rules of English as functions of what the files say, so that each can be shown to fail on made-up text. */

/** Words for people. A process has a name: the worker, the planner, the caller, the handler, an operator. */
const PEOPLE = /(?<![\w`-])(who(?:ever|m)?|somebody|someone|nobody|anybody|anyone|he|his|him)(?![\w`-])/gi

/** A sentence that stops here goes on at the next constant. */
const UNFINISHED = /(?:,|\b(?:and|or|but|nor|because|that|which|while|when|where))$/i

/** The words for people that comments of a file of code, or a page of Markdown, speak. */
export function wordsForPeople(file: string, text: string): string[] {
  const prose = file.endsWith('.md') ? proseOf(text) : commentsOf(text).join('\n')
  return [...prose.matchAll(PEOPLE)].map(([word]) => word.toLowerCase())
}

/** Doc comments that end in a comma or a conjunction, each by its last words. */
export function unfinishedComments(text: string): string[] {
  return docCommentsOf(text)
    .filter(comment => UNFINISHED.test(comment))
    .map(comment => comment.slice(-60))
}

/** What each comment says, without its marks. Strings and templates are no comments. */
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

/** A page without its blocks of code. */
function proseOf(page: string): string {
  return page.replaceAll(/^```[\s\S]*?^```/gm, '')
}
