# Prints " (did you mean X?)" for the word among the arguments that is nearest to the variable `typed` of the environment.
# Prints nothing if more than half of the letters differ.

# Number of letters to insert, remove or replace between two words (Levenshtein's distance).
function distance(a, b,    i, j, row, above, diagonal, cost) {
    for (j = 0; j <= length(b); j++) row[j] = j
    for (i = 1; i <= length(a); i++) {
        diagonal = row[0]
        row[0] = i
        for (j = 1; j <= length(b); j++) {
            above = row[j]
            cost = diagonal + (substr(a, i, 1) != substr(b, j, 1))
            if (above + 1 < cost) cost = above + 1
            if (row[j - 1] + 1 < cost) cost = row[j - 1] + 1
            row[j] = cost
            diagonal = above
        }
    }
    return row[length(b)]
}

BEGIN {
    typed = ENVIRON["typed"]
    for (i = 1; i < ARGC; i++) {
        found = distance(toupper(typed), toupper(ARGV[i]))
        if (best == "" || found < least) { best = ARGV[i]; least = found }
    }
    longest = length(typed) > length(best) ? length(typed) : length(best)
    if (best != "" && 2 * least <= longest) printf " (did you mean %s?)", best
}
