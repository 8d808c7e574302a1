import { dirname, relative, resolve } from 'node:path';
import ts from 'typescript';

/**
 * All that a library's public face lets others depend on: the declaration of each export, and of each type of the
 * library that those mention. A change of it shows in review, as a change of the page.
 */
export function apiReport(library: string, faces: readonly string[]): string {
  const modules = declarationsOf(faces);
  const reached = new Map<string, ts.Node>();
  const sections = faces.map((face) => {
    const exported = exportsOf(face, modules);
    for (const { node, module } of exported.values()) reach(node, module, modules, reached);
    const lines = [...exported].map(([name, { node }]) => printed(name, node));
    return `## \`${face}\`\n\n${fenced(lines)}`;
  });
  const faceNodes = new Set(faces.flatMap((face) => [...exportsOf(face, modules).values()].map(({ node }) => node)));
  const mentioned = [...reached].filter(([key, node]) => key.startsWith(`${library}/`) && !faceNodes.has(node));
  const rest = mentioned.sort(([a], [b]) => (a < b ? -1 : 1)).map(([key, node]) => printed(nameIn(key), node));
  return [
    `# Public face of \`${library}/\`\n`,
    'Written by `npm run generate`. What is here is what others may use: change it with intent.\n',
    ...sections,
    ...(rest.length === 0 ? [] : [`## Mentioned by them\n\n${fenced(rest)}`]),
  ].join('\n');
}

interface Found {
  readonly module: string;
  readonly node: ts.Node;
}

type Modules = ReadonlyMap<string, ts.SourceFile>;

/** What the compiler would publish of each module that the faces reach, by its path without an ending. */
function declarationsOf(faces: readonly string[]): Modules {
  const configuration = ts.readConfigFile('tsconfig.json', (path) => ts.sys.readFile(path));
  const { options } = ts.parseJsonConfigFileContent(configuration.config, ts.sys, '.');
  const program = ts.createProgram([...faces], {
    ...options,
    noEmit: false,
    declaration: true,
    emitDeclarationOnly: true,
    removeComments: true,
  });
  const modules = new Map<string, ts.SourceFile>();
  program.emit(undefined, (path, text) => {
    const key = relative('.', path).replace(/\.d\.ts$/, '');
    modules.set(key, ts.createSourceFile(path, text, ts.ScriptTarget.ES2023, true));
  });
  return modules;
}

/** Resolved through what the face re-exports, in the order of their names. */
function exportsOf(face: string, modules: Modules): ReadonlyMap<string, Found> {
  const module = face.replace(/\.ts$/, '');
  const found = new Map<string, Found>();
  for (const statement of modules.get(module)?.statements ?? []) {
    if (!ts.isExportDeclaration(statement) || statement.exportClause === undefined) continue;
    if (!ts.isNamedExports(statement.exportClause) || statement.moduleSpecifier === undefined) continue;
    for (const { name, propertyName } of statement.exportClause.elements) {
      const from = target(module, statement.moduleSpecifier);
      const at = find(from, (propertyName ?? name).text, modules);
      if (at === undefined) throw new Error(`${face} exports ${name.text}, which ${from} does not declare`);
      found.set(name.text, at);
    }
  }
  return new Map([...found].sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** Where a module declares that name itself or has it from. */
function find(module: string, name: string, modules: Modules): Found | undefined {
  for (const statement of modules.get(module)?.statements ?? []) {
    if (declaredBy(statement).includes(name)) return { module, node: statement };
    const [clause, from] = bindings(statement);
    const binding = clause.find((one) => one.name.text === name);
    if (binding !== undefined && from !== undefined) {
      return find(target(module, from), (binding.propertyName ?? binding.name).text, modules);
    }
  }
  return undefined;
}

function declaredBy(statement: ts.Statement): string[] {
  if (ts.isVariableStatement(statement))
    return statement.declarationList.declarations.map(({ name }) => name.getText());
  const named =
    ts.isInterfaceDeclaration(statement) ||
    ts.isTypeAliasDeclaration(statement) ||
    ts.isClassDeclaration(statement) ||
    ts.isFunctionDeclaration(statement);
  return named && statement.name !== undefined ? [statement.name.text] : [];
}

function bindings(statement: ts.Statement): [readonly (ts.ImportSpecifier | ts.ExportSpecifier)[], ts.Expression?] {
  if (ts.isImportDeclaration(statement)) {
    const named = statement.importClause?.namedBindings;
    return named !== undefined && ts.isNamedImports(named) ? [[...named.elements], statement.moduleSpecifier] : [[]];
  }
  if (!ts.isExportDeclaration(statement) || statement.moduleSpecifier === undefined) return [[]];
  const { exportClause } = statement;
  return exportClause !== undefined && ts.isNamedExports(exportClause)
    ? [[...exportClause.elements], statement.moduleSpecifier]
    : [[]];
}

function target(module: string, specifier: ts.Expression): string {
  const text = (specifier as ts.StringLiteral).text;
  return relative('.', resolve(dirname(module), text)).replace(/\.ts$/, '');
}

/** All declarations that this one mentions, and they in turn. */
function reach(node: ts.Node, module: string, modules: Modules, reached: Map<string, ts.Node>): void {
  const visit = (child: ts.Node): void => {
    if (ts.isIdentifier(child)) {
      const found = find(module, child.text, modules);
      const key = found === undefined ? undefined : `${found.module}#${child.text}`;
      if (found !== undefined && key !== undefined && !reached.has(key)) {
        reached.set(key, found.node);
        reach(found.node, found.module, modules, reached);
      }
    }
    ts.forEachChild(child, visit);
  };
  ts.forEachChild(node, visit);
}

function nameIn(key: string): string {
  return key.slice(key.indexOf('#') + 1);
}

function printed(name: string, node: ts.Node): string {
  const text = node.getText().replace(/^(export )?(declare )?/, '');
  return new RegExp(`\\b${name.replace('$', '\\$')}\\b`).test(text) ? text : `// as ${name}\n${text}`;
}

function fenced(declarations: readonly string[]): string {
  return `\`\`\`ts\n${declarations.join('\n')}\n\`\`\`\n`;
}
