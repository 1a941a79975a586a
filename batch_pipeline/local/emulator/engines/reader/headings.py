"""Section headings of CVs in the languages the reader knows, and how a line is recognised as one."""

import re
import unicodedata
from typing import Final, Literal

Section = Literal[
    "contact", "summary", "work", "education", "skills", "languages", "certificates", "projects",
    "publications", "awards", "volunteer", "interests", "references",
]  # fmt: skip

_NAMES: Final[dict[Section, str]] = {
    "contact": """contact|contact details|contact information|personal information|personal details|personal data|
        kontakt|kontaktdaten|personliche daten|personliche angaben|zur person|coordonnees|informations personnelles|
        etat civil|contacto|datos personales|datos de contacto|informacion personal|contato|dados pessoais|
        informacoes pessoais|contatti|contatto|dati personali|informazioni personali|contactgegevens|
        persoonlijke gegevens|persoonlijke informatie|iletisim|iletisim bilgileri|kisisel bilgiler|بيانات الاتصال|
        معلومات الاتصال|المعلومات الشخصية|البيانات الشخصية|联系方式|个人信息|基本信息|联系信息""",
    "summary": """summary|profile|professional summary|professional profile|about|about me|objective|personal statement|
        career objective|career summary|executive summary|personal profile|profil|kurzprofil|uber mich|zusammenfassung|
        personliches profil|berufsprofil|profil professionnel|resume|a propos|a propos de moi|objectif|perfil|
        perfil profesional|resumen|resumen profesional|sobre mi|objetivo|objetivo profesional|perfil profissional|
        resumo|resumo profissional|sobre mim|profilo|profilo professionale|sommario|chi sono|obiettivo|profiel|
        samenvatting|over mij|persoonlijk profiel|ozet|profesyonel ozet|hakkimda|kariyer hedefi|
        الملخص المهني|الملخص|نبذة|نبذة عني|نبذة مختصرة|الهدف الوظيفي|个人简介|个人总结|自我评价|简介|个人概述|职业目标|求职意向""",
    "work": """experience|work experience|professional experience|employment|employment history|work history|career|
        career history|relevant experience|job history|jobs|profession|berufserfahrung|beruflicher werdegang|
        berufspraxis|werdegang|arbeitserfahrung|beruf|berufliche erfahrung|praktische erfahrung|praktika|
        experience professionnelle|experiences professionnelles|experiences|parcours professionnel|
        experiencia|experiencia laboral|experiencia profesional|trayectoria profesional|historial laboral|
        experiencia profissional|historico profissional|trajetoria profissional|esperienza|esperienza lavorativa|
        esperienze lavorative|esperienza professionale|esperienze professionali|werkervaring|ervaring|loopbaan|
        professionele ervaring|is deneyimi|deneyim|is tecrubesi|deneyimler|mesleki deneyim|is gecmisi|
        الخبرة العملية|الخبرات العملية|الخبرة المهنية|الخبرات|الخبرة|الخبرات المهنية|工作经历|工作经验|职业经历|工作履历|实习经历""",
    "education": """education|academic background|education and training|qualifications|academic qualifications|
        education & training|studies|ausbildung|bildung|bildungsweg|studium|akademische ausbildung|schulbildung|
        ausbildung und studium|aus- und weiterbildung|formation|formations|etudes|parcours academique|diplomes|
        formation academique|educacion|formacion|formacion academica|estudios|educacao|formacao|formacao academica|
        escolaridade|istruzione|formazione|istruzione e formazione|studi|titoli di studio|opleiding|opleidingen|
        onderwijs|opleiding en training|egitim|egitim bilgileri|ogrenim|egitim durumu|
        التعليم|المؤهلات العلمية|المؤهلات|الدراسة|المؤهل العلمي|教育背景|教育经历|学历|教育""",
    "skills": """skills|technical skills|key skills|core skills|core competencies|competencies|expertise|
        professional skills|skills & tools|technologies|tools|abilities|it skills|computer skills|
        skills and competences|personal skills|kenntnisse|fahigkeiten|kompetenzen|fachkenntnisse|it-kenntnisse|
        edv-kenntnisse|technische kenntnisse|competences|competences techniques|savoir-faire|outils|habilidades|
        competencias|aptitudes|conocimientos|habilidades tecnicas|competencias tecnicas|conhecimentos|
        competenze|competenze tecniche|capacita|abilita|conoscenze informatiche|vaardigheden|competenties|kennis|
        technische vaardigheden|yetkinlikler|beceriler|yetenekler|teknik beceriler|bilgisayar bilgisi|
        المهارات|المهارات التقنية|المهارات الفنية|مهارات|专业技能|技能|技能特长|核心技能|技术栈""",
    "languages": """languages|language skills|language|sprachen|sprachkenntnisse|langues|langue|idiomas|lenguas|
        linguas|lingue|lingue straniere|conoscenze linguistiche|talen|talenkennis|diller|yabanci dil|yabanci diller|
        dil bilgisi|اللغات|اللغة|语言能力|语言|语言技能|外语""",
    "certificates": """certificates|certifications|certification|licenses & certifications|
        licenses and certifications|courses|training|professional development|zertifikate|zertifizierungen|
        weiterbildung|weiterbildungen|fortbildungen|certificats|certifications et formations|habilitations|
        certificados|certificaciones|cursos|cursos y certificaciones|certificacoes|cursos e certificacoes|
        certificati|certificazioni|corsi|certificaten|certificeringen|cursussen|sertifikalar|kurslar|
        sertifika ve kurslar|الشهادات|الدورات|الدورات التدريبية|شهادات|证书|资格证书|培训经历|认证""",
    "projects": """projects|personal projects|selected projects|key projects|projekte|projets|proyectos|projetos|
        progetti|projecten|projeler|المشاريع|项目经历|项目经验|项目""",
    "publications": """publications|selected publications|patents|invited talks|talks|publikationen|
        veroffentlichungen|publicaciones|publicacoes|pubblicazioni|publicaties|yayinlar|المنشورات|发表论文|论文|research|
        forschung""",
    "awards": """awards|honors|honours|selected honors|honors and awards|awards and honors|achievements|
        auszeichnungen|prix|distinctions|premios|reconocimientos|premios y reconocimientos|premi|riconoscimenti|
        prijzen|oduller|الجوائز|获奖情况|荣誉奖项|荣誉""",
    "volunteer": """volunteer|volunteering|volunteer experience|ehrenamt|engagement|benevolat|voluntariado|
        volontariato|vrijwilligerswerk|gonulluluk|العمل التطوعي|志愿者经历""",
    "interests": """interests|hobbies|hobbies and interests|interessen|hobbys|loisirs|centres d'interet|intereses|
        aficiones|interesses|passatempos|interessi|hobby|hobby's|ilgi alanlari|hobiler|الاهتمامات|الهوايات|兴趣爱好|爱好""",
    "references": """references|referenzen|referencias|referenze|referenties|referanslar|المراجع|推荐人""",
}

_TRIM: Final = " \t:：•·|-–—_=*#~.►▶■□◆"
_LONGEST: Final = 44
_NOT_LATIN: Final = re.compile(r"[^\x00-\x7f]")


def folded(text: str) -> str:
    """Lower case without accents, so that É, Ö, İ and ı meet their plain letters."""
    if text.isascii():
        return text.lower()
    plain = unicodedata.normalize("NFKD", text.casefold()).replace("ı", "i").replace("ß", "ss")
    return "".join(letter for letter in plain if not unicodedata.combining(letter))


_SECTION: Final[dict[str, Section]] = {
    " ".join(folded(name.strip()).split()): section
    for section, names in _NAMES.items()
    for name in names.replace("\n", " ").split("|")
}


def section_of(line: str) -> Section | None:
    """The section a whole line opens, or None for a body line."""
    if len(line) > _LONGEST:
        return None
    name = line.strip(_TRIM)
    if not name or name[-1].isdigit():
        return None
    return _SECTION.get(" ".join(folded(name).split()))
