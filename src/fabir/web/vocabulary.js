// From the spelling of a word to its rows, as fabir.text.vocabulary maps it.

const PADDING = 0, UNKNOWN = 1;
const NO_ANSWER = " "; // the token before a passage that means "no answer"

export class Vocabulary {
  /** `content` is that of vocabulary.json. */
  constructor({ trained, fixed, characters, max_characters }) {
    this.trained = trained.length;
    this.before = trained.includes(NO_ANSWER) ? [NO_ANSWER] : [];
    this.maxCharacters = max_characters;
    this.rows = new Map([...trained, ...fixed].map((word, row) => [word, row + 2]));
    this.characters = new Map(Array.from(characters, (each, row) => [each, row + 2]));
  }

  /** {row, characters}: the row of a word, and those of its first characters. */
  look(spelling) {
    if (spelling === "") return { row: PADDING, characters: [] };
    const composed = spelling.normalize("NFC");
    const row = this.rows.get(composed.toLowerCase()) ?? UNKNOWN;
    const first = Array.from(composed).slice(0, this.maxCharacters);
    return { row, characters: first.map((each) => this.characters.get(each) ?? UNKNOWN) };
  }
}
