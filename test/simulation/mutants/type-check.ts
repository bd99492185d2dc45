import { readFileSync } from 'node:fs'
import ts from 'typescript-5'
import { absolutePath } from '../planted-source/changed-source.ts'

/** Whether the text of a file has no type error. Only the file itself is checked, because exported functions state their types. */
export type TypeCheck = (path: string, text: string) => boolean

/** A compiler that keeps what it knows of the other files, so a check takes about a second. */
export function createTypeCheck(paths: readonly string[]): TypeCheck {
  const changed = new Map<string, { readonly text: string; readonly version: number }>()
  const { options } = ts.parseJsonConfigFileContent(
    ts.readConfigFile(absolutePath('tsconfig.json'), ts.sys.readFile).config,
    ts.sys,
    absolutePath('.'),
  )
  const files = paths.map(absolutePath)
  const service = ts.createLanguageService({
    getCompilationSettings: () => ({ ...options, noUnusedLocals: false, noUnusedParameters: false }),
    getScriptFileNames: () => files,
    getScriptVersion: file => String(changed.get(file)?.version ?? 0),
    getScriptSnapshot: file => {
      const text =
        changed.get(file)?.text ?? (ts.sys.fileExists(file) ? readFileSync(file, 'utf8') : undefined)
      return text === undefined ? undefined : ts.ScriptSnapshot.fromString(text)
    },
    getCurrentDirectory: () => absolutePath('.'),
    getDefaultLibFileName: ts.getDefaultLibFilePath,
    fileExists: ts.sys.fileExists,
    readFile: ts.sys.readFile,
    readDirectory: ts.sys.readDirectory,
    directoryExists: ts.sys.directoryExists,
    getDirectories: ts.sys.getDirectories,
  })
  let version = 0
  const set = (file: string, text: string) => {
    version += 1
    changed.set(file, { text, version })
  }
  return (path, text) => {
    const file = absolutePath(path)
    set(file, text)
    const errors = [...service.getSyntacticDiagnostics(file), ...service.getSemanticDiagnostics(file)]
    set(file, readFileSync(file, 'utf8'))
    return errors.length === 0
  }
}
